//! A page of its own with drawings and text: no scripts, no network, as wide as a desk or a phone.

use crate::escape::escape;

/// What all have in common; long lines of text are moved, not cut.
const STYLE: &str = "body{font-family:sans-serif;max-width:960px;margin:2em auto;padding:0 12px;color:#222;background:#fff}\
    h1{overflow-wrap:anywhere}pre{overflow-x:auto}svg{max-width:100%}";

/// The whole page; `style` comes behind what all have.
pub fn page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{}</title><style>{STYLE}{style}</style></head><body>\n{body}</body></html>\n",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_alone_and_its_title_is_no_markup() {
        let page = page("a<b", "text{fill:#444}", "<p>c</p>\n");
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("<p>c</p>\n</body></html>\n"), "{page}");
        assert!(page.contains("<title>a&lt;b</title>") && page.contains("text{fill:#444}</style>"), "{page}");
        assert!(!page.contains("http") && !page.contains("<script"), "{page}");
    }
}
