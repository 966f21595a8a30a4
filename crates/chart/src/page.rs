//! A page of its own with drawings and text: no scripts, no network, as wide as a desk or a phone.

use crate::ink::Ground;
use crate::plot::Plot;
use crate::svg::{Size, draw, legend};
use pcc_report::escape::escape;

/// The style of all pages. A reader moves long lines of text; they are not cut.
const STYLE: &str = "body{font-family:sans-serif;max-width:960px;margin:2em auto;padding:0 12px;color:#222;background:#fff}\
    h1{overflow-wrap:anywhere}pre{overflow-x:auto}svg{max-width:100%}";

/// On a desk, and on a phone: there a drawing of a desk would be 0.4 times as large, and its text with it.
const SIZES: [(&str, Size); 2] =
    [("wide", Size { width: 900.0, height: 260.0 }), ("narrow", Size { width: 344.0, height: 260.0 })];

/// The style of [`figure`]s.
pub const FIGURES: &str = "svg text{font-size:12px}.key{width:28px;height:10px}p span{margin-right:1em}.narrow{display:none}\
    @media(max-width:600px){.wide{display:none}.narrow{display:block}}";

/// A plot under its title, in a size for a desk and one for a phone, with its legend below. The page needs the
/// style [`FIGURES`].
pub fn figure(plot: &Plot) -> String {
    let drawn = SIZES.map(|(class, size)| format!("<div class=\"{class}\">{}</div>\n", draw(plot, size, Ground::Card)));
    let names = legend(plot, Ground::Card).into_iter().map(|(key, name)| {
        let key = format!("<svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\">{key}</svg>");
        format!("<span>{key} {}</span>", escape(&name))
    });
    let names = names.collect::<Vec<_>>().join(" ");
    format!("<h2>{}</h2>\n{}<p>{names}</p>\n", escape(&plot.title), drawn.concat())
}

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
    use crate::axis::Scale;
    use crate::plot::{Axis, Join, Point, Series};

    #[test]
    fn a_page_stands_alone_and_its_title_is_no_markup() {
        let page = page("a<b", "text{fill:#444}", "<p>c</p>\n");
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("<p>c</p>\n</body></html>\n"), "{page}");
        assert!(page.contains("<title>a&lt;b</title>") && page.contains("text{fill:#444}</style>"), "{page}");
        assert!(!page.contains("http") && !page.contains("<script"), "{page}");
    }

    #[test]
    fn a_figure_has_a_size_for_a_desk_and_one_for_a_phone() {
        let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, marks: Vec::new() };
        let points = vec![Point::bare(0.0, 1.0), Point::bare(1.0, 2.0)];
        let line = Series { name: "a<b".into(), ink: "flow-0".into(), alike: 0, join: Join::Line, points };
        let (title, x, y) = ("waits".into(), axis("s"), axis("ms"));
        let figure = figure(&Plot { title, x, y, series: vec![line], references: Vec::new(), limits: Vec::new() });
        for class in ["wide", "narrow"] {
            assert!(figure.contains(&format!("<div class=\"{class}\"><svg")), "{figure}");
        }
        assert!(figure.contains(" a&lt;b</span>") && !figure.contains("a<b"), "{figure}");
    }
}
