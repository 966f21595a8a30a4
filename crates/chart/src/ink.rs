//! Colours and marks: an algorithm looks the same in every figure, and differs from the others by more than its colour.

/// Colours that people with any colour vision tell apart in most pairs, and a mark for each: name, on a light page, on a
/// dark one, shape. Algorithms of one family (over QUIC, paced, a bundle) share them and differ by their line, or
/// where none is drawn, by [`Ink::with_mark_after`].
const FAMILIES: [(&str, &str, &str, Shape); 17] = [
    ("pcc", "#0068a8", "#5ab4f2", Shape::Circle),
    ("cubic", "#c44e00", "#ff9a56", Shape::Square),
    ("bbr", "#007a5a", "#3ecf9f", Shape::Triangle),
    ("reno", "#a8558a", "#e59acb", Shape::Diamond),
    ("illinois", "#8a6a00", "#dcb53c", Shape::Down),
    ("hybla", "#4a4fb5", "#a3a8ff", Shape::Cross),
    ("vegas", "#00838f", "#4dd0e1", Shape::Diamond),
    ("westwood", "#b3261e", "#ff8a80", Shape::Cross),
    ("bic", "#5f7a00", "#b9d645", Shape::Square),
    ("dctcp", "#6d4c41", "#c8a598", Shape::Triangle),
    // Flows that no algorithm's colour tells apart: see `of_flows`.
    ("flow-0", "#5b2a9d", "#b9a3ff", Shape::Circle),
    ("flow-1", "#b8960c", "#f0dc5a", Shape::Square),
    ("flow-2", "#d6246e", "#ff6fa8", Shape::Triangle),
    ("flow-3", "#12a5b8", "#5fe3ee", Shape::Diamond),
    ("flow-4", "#5a3a22", "#c79a73", Shape::Down),
    ("optimum", "#8a929e", "#7d8794", Shape::Circle),
    ("other", "#555b66", "#a7b0bd", Shape::Cross),
];

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle that points upwards.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points downwards.
    Down,
    /// Two lines: x.
    Cross,
    /// A triangle that points to the right.
    Right,
    /// A triangle that points to the left.
    Left,
    /// Two lines: +.
    Plus,
}

impl Shape {
    const ALL: [Self; 9] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::Down,
        Self::Cross,
        Self::Right,
        Self::Left,
        Self::Plus,
    ];

    /// As a path around a place; `r` is its radius.
    pub fn path(self, x: f64, y: f64, r: f64) -> String {
        let s = 0.86 * r;
        match self {
            Self::Circle => format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", x - r, d = 2.0 * r),
            Self::Square => format!("M{:.1} {:.1}h{d:.1}v{d:.1}h-{d:.1}z", x - s, y - s, d = 2.0 * s),
            Self::Triangle => format!("M{x:.1} {:.1}l{r} {h:.1}h-{d}z", y - r, h = 1.8 * r, d = 2.0 * r),
            Self::Down => format!("M{x:.1} {:.1}l{r} -{h:.1}h-{d}z", y + r, h = 1.8 * r, d = 2.0 * r),
            Self::Right => format!("M{:.1} {y:.1}l-{h:.1} {r}v-{d}z", x + r, h = 1.8 * r, d = 2.0 * r),
            Self::Left => format!("M{:.1} {y:.1}l{h:.1} {r}v-{d}z", x - r, h = 1.8 * r, d = 2.0 * r),
            Self::Plus => format!("M{:.1} {y:.1}h{d}M{x:.1} {:.1}v{d}", x - r, y - r, d = 2.0 * r),
            Self::Diamond => format!("M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z", y - r),
            Self::Cross => {
                let (left, top) = (x - s, y - s);
                format!(
                    "M{left:.1} {top:.1}l{d:.1} {d:.1}M{left:.1} {bottom:.1}l{d:.1} -{d:.1}",
                    d = 2.0 * s,
                    bottom = y + s
                )
            }
        }
    }
}

/// On what it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// A page that is light or dark as its reader likes, with the colours of [`style`].
    Page,
    /// A white card.
    Card,
}

/// How an algorithm or flow is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Ink {
    /// As CSS writes it.
    pub colour: String,
    /// The shape of its points.
    pub shape: Shape,
    /// The dashes of its line, for `stroke-dasharray`; none for an unbroken one.
    pub dash: Option<&'static str>,
    /// The width of its line. Unit: pixels.
    pub width: f64,
}

/// Characters that end an algorithm's name.
const ENDS: [char; 4] = ['+', '*', '/', ' '];

fn known(name: &str) -> &'static (&'static str, &'static str, &'static str, Shape) {
    let plain = name.strip_prefix("quic:").unwrap_or(name);
    let family = match plain.split(ENDS).next().unwrap_or(plain) {
        "newreno" => "reno",
        family => family,
    };
    FAMILIES.iter().find(|(known, ..)| *known == family).unwrap_or(&FAMILIES[FAMILIES.len() - 1])
}

/// Those with the same colour.
pub fn family(name: &str) -> &'static str {
    known(name).0
}

impl Ink {
    /// With the mark so many after its own: for those that share a colour where no line tells them apart.
    pub fn with_mark_after(self, places: usize) -> Self {
        let own = Shape::ALL.iter().position(|shape| *shape == self.shape).unwrap_or_default();
        Self { shape: Shape::ALL[(own + places) % Shape::ALL.len()], ..self }
    }
}

/// How the algorithm or flow of this name is drawn.
pub fn ink(name: &str, ground: Ground) -> Ink {
    let over_quic = name.strip_prefix("quic:");
    let plain = over_quic.unwrap_or(name);
    let (family, light, _, shape) = known(name);
    let is_ours = *family == "pcc";
    // Most of ours is over QUIC, and all peers but two are of the kernel.
    let dash = match (over_quic.is_some() != is_ours, plain.chars().find(|c| ENDS.contains(c))) {
        _ if name == "optimum" => Some("5 4"),
        (_, Some('*')) => Some("2 3"),
        (_, Some('+' | '/')) => Some("7 3"),
        (true, _) => Some("7 2 2 2"),
        _ => None,
    };
    let colour = match ground {
        Ground::Page => format!("var(--{family})"),
        Ground::Card => (*light).to_owned(),
    };
    Ink { colour, shape: *shape, dash, width: if is_ours { 2.6 } else { 1.7 } }
}

/// Colours of flows that there are, before they begin again.
const FLOWS: usize = 5;

/// The inks of flows in one picture, by the algorithm of each. The first flow of an algorithm has its algorithm's colour, as
/// on every page, and further ones have colours of flows. So have all where there is one algorithm: its colour would tell
/// nothing.
pub fn of_flows(algorithms: &[&str]) -> Vec<String> {
    let families: Vec<_> = algorithms.iter().map(|name| family(name)).collect();
    let are_alike = families.iter().all(|one| *one == families[0]) && families.len() > 1;
    let mut further = 0;
    let ink = |(place, name): (usize, &&str)| {
        let is_first = !families[..place].contains(&families[place]);
        if is_first && !are_alike && families[place] != "other" {
            return (*name).to_owned();
        }
        further += 1;
        format!("flow-{}", (further - 1) % FLOWS)
    };
    algorithms.iter().enumerate().map(ink).collect()
}

/// The colours as custom properties of a style sheet: light, or dark.
pub fn style(is_dark: bool) -> String {
    let line = |(name, light, dark, _): &(&str, &str, &str, Shape)| {
        format!("--{name}:{};", if is_dark { dark } else { light })
    };
    FAMILIES.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_shares_its_colour_and_differs_by_the_line() {
        let inks = ["bbr", "quic:bbr", "bbr+paced", "bbr*10"].map(|name| ink(name, Ground::Card));
        assert!(inks.iter().all(|ink| ink.colour == inks[0].colour));
        for (place, one) in inks.iter().enumerate() {
            assert!(inks[place + 1..].iter().all(|other| other.dash != one.dash), "{inks:?}");
        }
    }

    /// How far apart two colours are: CIE 1976, by L*a*b*.
    fn difference(one: &str, other: &str) -> f64 {
        let lab = |colour: &str| {
            let part = |at: usize| {
                let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            };
            let (r, g, b) = (part(1), part(3), part(5));
            let bend = |value: f64| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 };
            let x = bend((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
            let y = bend(0.2126 * r + 0.7152 * g + 0.0722 * b);
            let z = bend((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.0888);
            [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
        };
        let squares = lab(one).into_iter().zip(lab(other)).map(|(one, other)| (one - other).powi(2));
        squares.sum::<f64>().sqrt()
    }

    #[test]
    fn flows_differ_from_each_other_and_from_senders() {
        let usual = |name: &str| name.starts_with("flow-") || ["pcc", "cubic", "bbr", "reno"].contains(&name);
        let drawn: Vec<_> = FAMILIES.iter().filter(|(name, ..)| usual(name)).collect();
        for (place, one) in drawn.iter().enumerate() {
            for other in &drawn[place + 1..] {
                for (one_of, other_of) in [(one.1, other.1), (one.2, other.2)] {
                    assert!(difference(one_of, other_of) > 25.0, "{} and {}", one.0, other.0);
                }
            }
        }
    }

    #[test]
    fn an_algorithm_keeps_its_colour_among_flows() {
        assert_eq!(of_flows(&["pcc", "pcc/safe", "cubic"]), ["pcc", "flow-0", "cubic"]);
        assert_eq!(of_flows(&["cubic", "bbr", "20Mbit", "cubic"]), ["cubic", "bbr", "flow-0", "flow-1"]);
        assert_eq!(of_flows(&["pcc"; 7])[4..], ["flow-4", "flow-0", "flow-1"]);
        assert_eq!(of_flows(&["pcc"]), ["pcc"]);
    }

    #[test]
    fn marks_of_one_colour_differ() {
        let inks: Vec<_> = (0..9).map(|places| ink("bbr", Ground::Card).with_mark_after(places)).collect();
        assert_eq!(inks[0], ink("bbr", Ground::Card));
        let paths: Vec<_> = inks.iter().map(|ink| ink.shape.path(10.0, 10.0, 4.0)).collect();
        for (place, one) in paths.iter().enumerate() {
            assert!(!paths[place + 1..].contains(one), "{one}");
        }
    }

    #[test]
    fn what_nobody_knows_has_an_ink_too() {
        assert_eq!(ink("scalable", Ground::Page).colour, "var(--other)");
        assert!(style(false).contains("--other:") && style(true).contains("--pcc:#5ab4f2;"));
    }
}
