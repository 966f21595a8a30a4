//! The questions of a page, and their answers.

use crate::check::{self, Check};
use crate::run::{Options, Run};
use pcc_link::presets;
use pcc_play::Refused;
use pcc_sim::Queue;
use serde::Deserialize;
use serde_json::{Value, json};

/// The simulation of a page. A page that compares two has two of these.
#[derive(Debug, Default)]
pub struct Playground {
    run: Option<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    /// The words that fields may hold.
    Words,
    /// Puts a run together. It has not begun.
    Stage(Options),
    /// Simulates up to this moment.
    Pass { seconds: f64 },
    /// The pictures so far, this wide, with vertical axes that reach so far at least.
    Draw {
        width: f64,
        #[serde(default)]
        reach: Vec<f64>,
    },
    /// The results, as `pcc-lab sim --json` has them, and as its table. Simulates the rest.
    Results,
    /// The findings of a computation about a utility.
    Check(Check),
}

impl Playground {
    /// The answer to a question; `{"refused": …}` if it cannot be answered.
    pub fn answer(&mut self, question: &str) -> String {
        let question = serde_json::from_str(question).map_err(|error| Refused::new("question", error));
        let answer = question.and_then(|question| self.reply(question));
        let told = |Refused { option, problem }| json!({ "refused": { "option": option, "problem": problem } });
        answer.unwrap_or_else(told).to_string()
    }

    fn reply(&mut self, question: Question) -> Result<Value, Refused> {
        match question {
            Question::Words => Ok(words()),
            Question::Check(check) => check::answer(&check),
            Question::Stage(options) => {
                self.run = None;
                let run = Run::stage(&options)?;
                let told = json!({ "flows": run.names(), "seconds": run.seconds() });
                self.run = Some(run);
                Ok(told)
            }
            Question::Pass { seconds } => Ok(json!({ "seconds": self.run()?.pass(seconds) })),
            Question::Draw { width, reach } => Ok(self.run()?.draw(width, &reach)),
            Question::Results => Ok(self.run()?.results()),
        }
    }

    fn run(&mut self) -> Result<&mut Run, Refused> {
        self.run.as_mut().ok_or_else(|| Refused::new("question", "there is no run: stage one"))
    }
}

fn words() -> Value {
    let path = |preset: &pcc_link::Preset| json!({ "name": preset.name, "about": preset.about, "parameters": preset.parameters });
    let utility = |about: &pcc::utility::UtilityInfo| json!({ "name": about.name, "summary": about.summary, "formula": about.formula, "text": about.text });
    json!({
        "paths": presets().iter().map(path).collect::<Vec<_>>(),
        "queues": Queue::NAMES.map(|(name, _)| name),
        "utilities": pcc::utility::built_in().map(utility).collect::<Vec<_>>(),
        "colours": [pcc_chart::ink::style(false), pcc_chart::ink::style(true)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(playground: &mut Playground, question: &Value) -> Value {
        serde_json::from_str(&playground.answer(&question.to_string())).unwrap()
    }

    #[test]
    fn a_run_in_stretches_ends_as_that_of_the_tool() {
        let mut playground = Playground::default();
        let stage = json!({ "ask": "stage", "path": "rate=20Mbit,rtt=20ms,buffer=50KB,loss=1%", "flows": "pcc cubic", "time": "3s", "seed": "7" });
        let staged = ask(&mut playground, &stage);
        assert_eq!(staged, json!({ "flows": ["pcc", "cubic"], "seconds": 3.0 }));
        assert_eq!(ask(&mut playground, &json!({ "ask": "pass", "seconds": 1.25 })), json!({ "seconds": 1.25 }));
        assert_eq!(ask(&mut playground, &json!({ "ask": "pass", "seconds": 99.0 })), json!({ "seconds": 3.0 }));
        let told = ask(&mut playground, &json!({ "ask": "results" }));
        let play = pcc_play::Play {
            path: "rate=20Mbit,rtt=20ms,buffer=50KB,loss=1%",
            files: &pcc_play::on_disk,
            then: &[],
            flows: "pcc cubic",
            read: &pcc_play::read,
            objective: None,
            queue: None,
            ecn: false,
            policer: None,
            time: core::time::Duration::from_secs(3),
        };
        let staged = play.stage().unwrap();
        let scenario = staged.seeded(7);
        let results = pcc_sim::run(&scenario).unwrap();
        let expected = pcc_play::Told::of((&scenario, &results), &staged.names, Vec::new());
        assert_eq!((&told["runs"][0], told["text"].as_str().unwrap()), (&expected.json(), expected.text().as_str()));
    }

    #[test]
    fn pictures_grow_and_have_the_axes_that_they_are_told() {
        let mut playground = Playground::default();
        let stage = json!({ "ask": "stage", "path": "clean", "flows": "pcc*2", "time": "4s", "seed": "1" });
        ask(&mut playground, &stage);
        let draw = |playground: &mut Playground, reach: &[f64]| {
            ask(playground, &json!({ "ask": "draw", "width": 500, "reach": reach }))
        };
        let before = draw(&mut playground, &[]);
        ask(&mut playground, &json!({ "ask": "pass", "seconds": 2 }));
        let drawn = draw(&mut playground, &[777.0]);
        let pictures = drawn["pictures"].as_array().unwrap();
        assert_eq!((before["pictures"].as_array().unwrap().len(), pictures.len()), (4, 4));
        assert!(pictures[0]["svg"].as_str().unwrap().contains(">800<"), "{}", pictures[0]["svg"]);
        assert!(pictures[0]["top"].as_f64().is_some_and(|top| top > 10.0 && top < 110.0), "{}", pictures[0]);
        let legend = pictures[0]["legend"].as_array().unwrap();
        assert_eq!(legend.iter().map(|one| &one["name"]).collect::<Vec<_>>(), ["pcc 1", "pcc 2"]);
    }

    #[test]
    fn what_cannot_be_is_refused_under_its_field() {
        let mut playground = Playground::default();
        let good = json!({ "ask": "stage", "path": "clean", "flows": "pcc", "time": "3s", "seed": "1", "files": { "no.trace": "hello" } });
        for (field, value, expected) in [
            ("path", "nowhere", "neither KEY=VALUE"),
            ("path", "rate=10Mbit,rtt=10ms,buffer=1KB", "buffer"),
            ("path", "trace=other.trace,rtt=30ms", "no file `other.trace`"),
            ("path", "trace=no.trace,rtt=30ms", "`hello` is no number of milliseconds"),
            ("path", "@no.trace", "`hello` is not KEY=VALUE"),
            ("flows", "quick", "choose from pcc"),
            ("queue", "quick", "choose from droptail"),
            ("policer", "10Mbit", "10Mbit"),
            ("time", "5", "no unit"),
            ("time", "2000s", "at most"),
            ("time", "0s", "more than 0"),
            ("seed", "-1", "a whole number"),
            ("utility", "x - los", "`los` is no measurement"),
            ("utility", "./mine", "no files"),
            ("flows", "pcc/mine.utility", "no files"),
            ("law", "fast", "fast"),
            ("set", "b", "KEY=VALUE"),
            ("set", "b=2", "no such parameter"),
            ("ask", "fly", "unknown variant"),
        ] {
            let mut question = good.clone();
            question[field] = json!(value);
            let refused = ask(&mut playground, &question)["refused"].clone();
            let option = if field == "ask" { "question" } else { field };
            let problem = refused["problem"].as_str().unwrap_or_default();
            assert!(refused["option"] == option && problem.contains(expected), "{field} {value}: {refused}");
        }
        let nothing = ask(&mut playground, &json!({ "ask": "results" }));
        assert_eq!(nothing["refused"]["problem"], "there is no run: stage one");
    }

    #[test]
    fn a_recorded_link_is_one_that_the_page_was_given() {
        let mut playground = Playground::default();
        let mut question =
            json!({ "ask": "stage", "path": "trace=a.trace,rtt=30ms", "flows": "pcc", "time": "3s", "seed": "1" });
        question["files"] = json!({ "a.trace": "10\n20\n" });
        assert_eq!(ask(&mut playground, &question)["seconds"], 3.0);
        let told = ask(&mut playground, &json!({ "ask": "results" }));
        assert!(told["json"].as_str().unwrap().contains("trace=a.trace"), "{told}");
        (question["ask"], question["utility"]) = (json!("check"), json!("fair"));
        for one in ["flows", "time", "seed"] {
            question.as_object_mut().unwrap().remove(one);
        }
        assert_eq!(ask(&mut playground, &question)["traps"], json!([]));
    }

    #[test]
    fn a_utility_is_checked_where_it_is_written() {
        let mut playground = Playground::default();
        let mut check =
            |utility: &str| ask(&mut playground, &json!({ "ask": "check", "path": "clean", "utility": utility }));
        let fair = check("fair");
        assert!(fair["text"].as_str().unwrap().contains("no known traps"), "{fair}");
        assert!(
            fair["charts"].as_array().unwrap().iter().all(|chart| chart["svg"].as_str().unwrap().starts_with("<svg"))
        );
        assert_eq!(fair["traps"], json!([]));
        assert_ne!(check("loss-resilient")["traps"], json!([]));
        assert_eq!(check("x - los")["refused"]["option"], "utility");
    }

    #[test]
    fn a_page_is_told_which_words_there_are() {
        let words = ask(&mut Playground::default(), &json!({ "ask": "words" }));
        assert!(words["paths"].as_array().unwrap().iter().any(|path| path["name"] == "satellite"));
        assert_eq!((&words["utilities"][0]["name"], &words["queues"][0]), (&json!("fair"), &json!("droptail")));
    }
}
