//! The page: one file with everything in it.

use super::{Section, csv, overview};
use crate::check::{Checked, NotJudged, Verdict};
use crate::measure::Measure;
use crate::names::short;
use crate::scenario;
use core::fmt::Write as _;
use pcc_chart::axis::{number, number_beside};
use pcc_chart::ink::{self, Ground};
use pcc_chart::plot::Plot;
use pcc_chart::svg::{self, Size};
use pcc_report::escape::escape;
use pcc_report::provenance::{self, Provenance, Source};
use pcc_stats::Mean;

const CSS: &str = include_str!("page.css");
const LIGHT: &str = "--page:#f6f7f9;--card:#fff;--text:#16181d;--dim:#5c6470;--line:#e2e5ea;--axis:#9aa2ad;\
                     --good:#dcf3e4;--good-text:#0b6b38;--bad:#fde2df;--bad-text:#a81f14;";
const DARK: &str = "--page:#101317;--card:#191d23;--text:#e8eaee;--dim:#9aa4b2;--line:#2b313a;--axis:#66707d;\
                    --good:#123d28;--good-text:#6fdca0;--bad:#4a1d1a;--bad-text:#ff9f95;";
/// On a desk, and on a phone of 390 pixels less the margins.
const SIZES: [(&str, Size); 2] =
    [("wide", Size { width: 914.0, height: 370.0 }), ("narrow", Size { width: 344.0, height: 290.0 })];
/// Two of them beside each other on a desk.
const SMALL: Size = Size { width: 450.0, height: 280.0 };

/// A column of a table, whose rows become cards with named lines on a phone.
struct Column {
    name: &'static str,
    is_left: bool,
}

const fn left(name: &'static str) -> Column {
    Column { name, is_left: true }
}

const fn right(name: &'static str) -> Column {
    Column { name, is_left: false }
}

impl Column {
    fn class(&self) -> &'static str {
        if self.is_left { " class=\"left\"" } else { "" }
    }
}

fn cards(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = String::from("<div class=\"scroll\"><table class=\"cards\"><thead><tr>");
    text.extend(columns.iter().map(|column| format!("<th{}>{}</th>", column.class(), column.name)));
    text += "</tr></thead><tbody>\n";
    for row in rows {
        text += "<tr>";
        for (column, value) in columns.iter().zip(row) {
            let _ = write!(text, "<td{} data-name=\"{}\">{value}</td>", column.class(), column.name);
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

pub(super) fn render(sections: &[Section<'_>], provenance: &Provenance) -> String {
    let (light, dark) = (ink::style(false), ink::style(true));
    let title = escape(&provenance.title(&heading_of(sections)));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n:root {{ color-scheme: light dark; {LIGHT}{light} }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ {DARK}{dark} }} }}\n{CSS}</style>\n</head>\n<body>\n<main>\n"
    );
    page += &head(sections, provenance);
    for section in sections {
        page += &match section.runs() {
            (0, _) => not_run(section),
            _ => scenario(section, provenance),
        };
    }
    page += "</main>\n</body>\n</html>\n";
    page
}

/// The page's subject.
fn heading_of(sections: &[Section<'_>]) -> String {
    match sections {
        [one] => one.scenario.title.clone(),
        all if is_supplied(all) => "PCC against today's TCPs, on the paths of the papers".into(),
        _ => "PCC against today's TCPs".into(),
    }
}

/// All of them are the lab's own.
fn is_supplied(sections: &[Section<'_>]) -> bool {
    sections.iter().all(|one| scenario::names().any(|name| name == one.scenario.written))
}

fn head(sections: &[Section<'_>], provenance: &Provenance) -> String {
    let is_promised = sections.iter().any(|section| !section.checked.is_empty());
    let mut text = format!(
        "<h1>{}</h1>\n<p class=\"dim\">{} Points are means over seeds.</p>\n",
        escape(&provenance.title(&heading_of(sections))),
        provenance.source.statement()
    );
    if let Some(doubt) = provenance.build.doubt() {
        let _ = writeln!(text, "<p class=\"verdict miss\">Not reproducible: {}.</p>", escape(&doubt));
    }
    text += "<section>";
    if is_promised {
        let _ = writeln!(text, "<h2>{}</h2>", score(sections));
    }
    text += &overview(sections, provenance.source);
    if is_promised {
        text += &promises(sections, provenance.source);
        let columns =
            [left("figure"), left("verdict"), right("promises kept"), right("goals reached"), right("number")];
        text += &cards(&columns, sections.iter().map(summary));
    }
    let real: f64 = sections.iter().map(|section| section.real_seconds).sum();
    if provenance.source == Source::Lab {
        let time = if real > 0.0 { format!("{}, added over all runs", time(real)) } else { "not recorded".into() };
        let kernels = escape(&kernels(sections).join(", "));
        let _ = write!(text, "<dl><dt>Kernels</dt><dd>{kernels}</dd><dt>Real time</dt><dd>{time}</dd></dl>");
    }
    text + &provenance.list() + "</section>\n"
}

/// The number of kept promises.
fn score(sections: &[Section<'_>]) -> String {
    let all = || sections.iter().flat_map(|section| &section.checked);
    let count = |verdict| all().flatten().filter(|row| row.verdict == verdict).count();
    let reached = all().flatten().filter(|row| row.reaches_goal).count();
    let not_judged = all().filter(|row| row.is_err()).count();
    let mut score = format!("{} of {} promises kept", count(Verdict::Pass), all().count());
    for (count, what) in [(count(Verdict::Miss), "missed"), (count(Verdict::Open), "open"), (not_judged, "not judged")]
    {
        if count > 0 {
            let _ = write!(score, ", {count} {what}");
        }
    }
    format!("{score}; {reached} {} reached", if reached == 1 { "goal" } else { "goals" })
}

/// The explanation of promises.
fn promises(sections: &[Section<'_>], source: Source) -> String {
    let words = match (source, is_supplied(sections)) {
        (Source::Simulator, true) => {
            "The promises are made of the lab's measurements (pcc-lab check). Here simulated figures are held against them."
        }
        (Source::Simulator, false) => "The promises are the targets of the scenario's file.",
        (_, is_supplied) => {
            let list = if is_supplied {
                " The numbers are those of the list of promises, in which one promise may have several cases."
            } else {
                ""
            };
            return format!("<p class=\"dim\">{JUDGED}{list}</p>\n");
        }
    };
    format!("<p class=\"dim\">{words}</p>\n")
}

const JUDGED: &str = "A promise is a measure of a scenario and what it must reach; its goal is what we want it to reach. It is kept \
                      if the whole 95 % confidence interval of all seeds reaches it, missed if no part does, and open between; \
                      without all seeds it is not judged.";

/// A scenario's line of the table on top.
fn summary(section: &Section<'_>) -> Vec<String> {
    let rows = &section.checked;
    let count = |is: fn(&Checked) -> bool| rows.iter().flatten().filter(|row| is(row)).count();
    let kept = count(|row| row.verdict == Verdict::Pass);
    let verdict = match (section.runs().0, rows.iter().flatten().count()) {
        (0, _) => badge("none", "not run"),
        (_, 0) if rows.is_empty() => badge("none", "nothing promised"),
        (_, 0) => badge("none", "not judged"),
        _ if count(|row| row.verdict == Verdict::Miss) > 0 => badge("miss", "MISS"),
        (_, judged) if kept < judged => badge("none", "OPEN"),
        (_, judged) if judged < rows.len() => badge("pass", "PASS, not all judged"),
        _ => badge("pass", "PASS"),
    };
    let mut numbers: Vec<&str> = section.scenario.targets.iter().map(|target| target.row.as_str()).collect();
    numbers.dedup();
    let (name, title) = (escape(&section.scenario.name), escape(&section.scenario.title));
    let of_all = |count: usize| if rows.is_empty() { String::new() } else { format!("{count} of {}", rows.len()) };
    vec![
        format!("<a href=\"#{name}\">{title}</a>"),
        verdict,
        of_all(kept),
        of_all(count(|row| row.reaches_goal)),
        escape(&numbers.join(", ")),
    ]
}

/// PCC's goodput by its peers', over all scenarios.
fn overview(sections: &[Section<'_>], source: Source) -> String {
    let rows = overview::rows(sections);
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<figure><figcaption>Goodput of PCC, times that of {}: above 1 PCC moves more</figcaption>\n",
        source.kernel_s(&overview::peers(&rows).join(" and ").to_uppercase())
    );
    text += &overview::legend(&rows);
    for (class, size) in SIZES {
        let drawn = overview::draw(&rows, size.width, class == "narrow");
        text += &drawn.replacen("<svg ", &format!("<svg class=\"{class}\" "), 1);
    }
    text + "</figure>\n"
}

/// The origin of a scenario's figures.
fn measured_by(section: &Section<'_>, source: Source) -> String {
    match source {
        Source::Lab => escape(&kernels(std::slice::from_ref(section)).join(", ")),
        _ => source.statement().into(),
    }
}

fn kernels(sections: &[Section<'_>]) -> Vec<String> {
    let runs = sections.iter().flat_map(|section| &section.cells).flat_map(|cell| &cell.runs);
    let mut kernels: Vec<_> = runs.map(|(_, outcome)| format!("Linux {}", outcome.kernel)).collect();
    kernels.sort_unstable();
    kernels.dedup();
    kernels
}

/// Seconds of real time in words.
fn time(seconds: f64) -> String {
    match seconds {
        short if short < 100.0 => format!("{short:.0} s"),
        middle if middle < 6000.0 => format!("{:.0} min", middle / 60.0),
        long => format!("{:.1} h", long / 3600.0),
    }
}

fn badge(class: &str, text: &str) -> String {
    format!("<span class=\"verdict {class}\">{text}</span>")
}

/// Title, source and what was published.
fn heading(section: &Section<'_>) -> String {
    let scenario = section.scenario;
    let mut text = format!(
        "<section id=\"{}\"><h2>{}</h2>\n<p class=\"dim\">{}</p>\n",
        escape(&scenario.name),
        escape(&scenario.title),
        escape(&scenario.source)
    );
    if !scenario.published.is_empty() {
        text += "<blockquote><p class=\"dim\">Published:</p>";
        for statement in &scenario.published {
            let _ = write!(text, "<p>{}</p>", escape(statement));
        }
        text += "</blockquote>\n";
    }
    text
}

fn not_run(section: &Section<'_>) -> String {
    let command = escape(&section.command);
    format!("{}<p>{} <code>{command}</code></p></section>\n", heading(section), badge("none", "not run"))
}

fn scenario(section: &Section<'_>, provenance: &Provenance) -> String {
    let mut text = heading(section);
    text += "<div class=\"figures\">";
    for plot in &section.plots {
        text += &figure(plot, provenance.source);
    }
    text += "</div>\n";
    if section.plots.iter().any(Plot::shows_seeds) {
        text += "<p class=\"dim\">The dots at a mark are its seeds: too few for an interval that would say more. Where \
                 there are more, a bar is the 95 % confidence interval.</p>\n";
    }
    if section.cells.iter().any(|cell| cell.runs.len() == 1) {
        text += "<p class=\"dim\">A point without dots or a bar stands on one seed.</p>\n";
    }
    text += &verdicts(&section.checked);
    text += &table(section);
    text += &made(section, provenance);
    text + "</section>\n"
}

fn figure(plot: &Plot, source: Source) -> String {
    let of = if source == Source::Simulator { " (simulated)" } else { "" };
    let class = if plot.is_small() { " class=\"small\"" } else { "" };
    let mut text =
        format!("<figure{class}><figcaption>{}{of}</figcaption>\n<div class=\"legend\">", escape(&plot.title));
    for (key, name) in svg::legend(plot, Ground::Page) {
        let name = escape(&name);
        let _ = write!(text, "<span><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\">{key}</svg>{name}</span>");
    }
    text += "</div>\n";
    for (class, size) in SIZES {
        let size = if plot.is_small() && class == "wide" { SMALL } else { size };
        let drawn = svg::draw(plot, size, Ground::Page);
        text += &drawn.replacen("<svg ", &format!("<svg class=\"{class}\" "), 1);
    }
    text + "</figure>\n"
}

fn verdicts(rows: &[Result<Checked, NotJudged>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        right("number"),
        left("verdict"),
        left("case"),
        left("measure"),
        right("measured"),
        right("must"),
        right("goal"),
        left("algorithm"),
        left("95 % interval"),
    ];
    format!("<h3>Promised</h3>{}", cards(&columns, rows.iter().map(promise)))
}

/// A promise's line.
fn promise(row: &Result<Checked, NotJudged>) -> Vec<String> {
    let (number_of_row, case, metric, algorithm) = match row {
        Ok(row) => (&row.row, &row.case, &row.metric, &row.algorithm),
        Err(row) => (&row.row, &row.case, &row.metric, &row.algorithm),
    };
    let (verdict, [measured, must, goal], interval) = match row {
        Ok(row) => {
            let sign = if row.at_most { "≤" } else { "≥" };
            let verdict = match (row.verdict, row.reaches_goal) {
                (Verdict::Pass, true) => badge("pass", "PASS, goal"),
                (Verdict::Pass, false) => badge("pass", "PASS"),
                (Verdict::Open, _) => badge("none", "OPEN"),
                (Verdict::Miss, _) => badge("miss", "MISS"),
            };
            let told = |value: f64| number_beside(value, row.must);
            let [must, goal] = [row.must, row.goal].map(|limit| format!("{sign} {}", number(limit)));
            let interval = row.interval.map_or("no interval".to_owned(), |ends| ends.map(told).join(" to "));
            let interval = format!("{interval}, {} seeds", row.seeds);
            (verdict, [told(row.measured), must, goal], interval)
        }
        Err(row) => {
            let lacks = format!("<span class=\"dim\">lacks {}</span>", escape(&row.lacks));
            (badge("none", "not judged"), ["–"; 3].map(String::from), lacks)
        }
    };
    let [number_of_row, case, metric, algorithm] = [number_of_row, case, metric, algorithm].map(|text| escape(text));
    vec![number_of_row, verdict, case, metric, measured, must, goal, algorithm, interval]
}

/// The same numbers as in the figures, to read.
fn table(section: &Section<'_>) -> String {
    let has = |measure: &Measure| section.cells.iter().any(|cell| cell.mean(*measure).is_some());
    let measures: Vec<_> = section.scenario.measures().into_iter().filter(has).collect();
    let mut text = String::from("<details><summary>All figures</summary><div class=\"scroll\"><table><thead><tr>");
    let _ = write!(text, "<th>{}</th><th class=\"left\">algorithm</th><th>seeds</th>", escape(&section.scenario.key));
    text.extend(measures.iter().map(|measure| format!("<th>{measure}</th>")));
    text += "</tr></thead><tbody>\n";
    for cell in section.cells.iter().filter(|cell| !cell.runs.is_empty()) {
        let (point, name, seeds) = (escape(cell.point), escape(&short(cell.algorithm)), cell.runs.len());
        let _ = write!(text, "<tr><td>{point}</td><td class=\"left\">{name}</td><td>{seeds}</td>");
        for measure in &measures {
            let value = cell.mean(*measure).map_or("–".into(), |Mean { mean, margin }| match margin {
                Some(margin) => format!("{} ± {}", number(mean), number(margin)),
                None => number(mean),
            });
            let _ = write!(text, "<td>{value}</td>");
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div></details>\n"
}

fn made(section: &Section<'_>, provenance: &Provenance) -> String {
    let scenario = section.scenario;
    let (done, wanted) = section.runs();
    let seeds = provenance::range(scenario.runs.iter().map(|run| run.spec.seed).collect());
    let longest = scenario.runs.iter().map(|run| run.spec.duration).max().unwrap_or_default();
    let rejected: Vec<_> = section.cells.iter().filter(|cell| !cell.rejected.is_empty()).collect();
    let name = escape(&scenario.name);
    let link = |file: &str, words: &str, table: &str| {
        format!("<a download=\"{file}\" href=\"{}\">{words}</a>", csv::address(table))
    };
    let mut data = vec![link(&format!("{name}.csv"), "every run", &section.csv(provenance))];
    for (place, plot) in section.plots.iter().enumerate().filter(|(_, plot)| plot.x.marks.is_empty()) {
        data.push(link(
            &format!("{name}-figure-{}.csv", place + 1),
            &format!("figure {}", place + 1),
            &csv::plot(plot, provenance.source),
        ));
    }
    let mut rows = vec![
        ("Command", format!("<code>{}</code>", escape(&section.command))),
        ("Runs", format!("{done} of {wanted}; seeds {seeds}; {} s of virtual time each", number(longest as f64 / 1e9))),
        ("Measured by", measured_by(section, provenance.source)),
        ("Program", escape(&provenance.build.describe())),
        ("Data", data.join(", ")),
    ];
    if section.real_seconds > 0.0 {
        rows.insert(2, ("Real time", time(section.real_seconds)));
    }
    if !rejected.is_empty() {
        let names = rejected.iter().map(|cell| {
            let seeds: Vec<_> = cell.rejected.iter().map(u64::to_string).collect();
            format!("{} at {}, seed {}", short(cell.algorithm), cell.point, seeds.join(", "))
        });
        let names = names.collect::<Vec<_>>().join("; ");
        rows.push(("Not counted", escape(&format!("held back by their own hosts: {names}"))));
    }
    let rows: String = rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>")).collect();
    format!("<dl>{rows}</dl>")
}
