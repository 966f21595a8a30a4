use pcc_bpf::rule::Rule;
use pcc_bpf::variant::Variant;
use pcc_bpf::{rights, sysctl, trial};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::time::Duration;

/// Show what is loaded, which connections get it, and when a trial ends
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc kernel status --json")]
pub(super) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let default = sysctl::default()?;
    let mut out = io::stdout().lock();
    if let (Err(error), false) = (rights::check(), args.json) {
        let available = sysctl::available()?.join(", ");
        writeln!(out, "new connections have {default} by default; the kernel has {available}")?;
        return Err(anyhow::Error::new(error).context("the rest is for root"));
    }
    let (variants, rules) = (Variant::all()?, Rule::all()?);
    if args.json {
        let variants = variants.iter().map(|variant| told(variant, &default)).collect::<anyhow::Result<Vec<_>>>()?;
        let rules = rules.iter().map(rule).collect::<Vec<_>>();
        writeln!(out, "{}", json!({ "default": default, "variants": variants, "rules": rules }))?;
        return Ok(());
    }
    if variants.is_empty() {
        writeln!(out, "PCC is not loaded; new connections have {default} by default")?;
    }
    for variant in &variants {
        write!(out, "{}", text(variant, &default)?)?;
    }
    for rule in &rules {
        let given = format!("{} given it", rule.chosen);
        let failed = if rule.failed > 0 { format!(", {} not, for want of it", rule.failed) } else { String::new() };
        writeln!(out, "rule {}: {} for {rule} ({given}{failed})", rule.id, rule.name)?;
    }
    Ok(())
}

fn text(variant: &Variant, default: &str) -> anyhow::Result<String> {
    let Variant { name, variables, held, .. } = variant;
    if !variant.is_registered {
        let what = "connections, sockets that listen, and networks whose default it is";
        return Ok(format!("{name} (unloaded or replaced; held by {held}: {what})\n"));
    }
    let is_default = if name == default { " (the default)" } else { "" };
    let mut text = format!("{name}{is_default}\n  strives for  {}\n", variables.text("utility_text")?.trim());
    if let Some(most) = limit(variant)? {
        text += &format!("  limit        {:.3} Mbit/s a connection\n", most as f64 * 8e-6);
    }
    text += &format!("  held by      {held} (connections, and networks whose default it is)\n");
    if let Some(rest) = trial::remaining(variant)? {
        let before = variables.text("trial.before")?;
        text += &match rest {
            Duration::ZERO => format!(
                "  trial        over: new connections get {before}; what ends it is gone, so: pcc kernel unload {name}\n"
            ),
            rest => {
                let rest = humantime::format_duration(Duration::from_secs(rest.as_secs()));
                format!("  trial        ends in {rest}, then {before}; `pcc kernel set {name} --keep` keeps it\n")
            }
        };
    }
    Ok(text)
}

pub(super) fn limit(variant: &Variant) -> anyhow::Result<Option<u64>> {
    Ok(Some(variant.variables.number("limits.most")?).filter(|most| *most > 0))
}

fn told(variant: &Variant, default: &str) -> anyhow::Result<Value> {
    let (variables, rest) = (&variant.variables, trial::remaining(variant)?);
    let programs = variant.programs.iter().map(|program| {
        json!({ "id": program.id, "name": program.name, "verified_instructions": program.verified, "bytes": program.compiled })
    });
    Ok(json!({
        "name": variant.name,
        "id": variant.map.id,
        "link": variant.link.as_ref().map(|link| link.id),
        "loaded": variant.is_registered,
        "default": variant.is_registered && variant.name == default,
        "utility": variables.text("utility_text")?.trim(),
        "limit_bps": limit(variant)?.map(|most| most * 8),
        "held": variant.held,
        "trial": rest.map(|rest| -> anyhow::Result<_> {
            Ok(json!({ "ends_in_s": rest.as_secs_f64(), "before": variables.text("trial.before")? }))
        }).transpose()?,
        "programs": programs.collect::<Vec<_>>(),
    }))
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "cgroup": rule.path,
        "port": rule.whom.port,
        "dest": rule.whom.dest.map(|dest| dest.to_string()),
        "chosen": rule.chosen,
        "failed": rule.failed,
    })
}
