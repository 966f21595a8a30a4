//! Checks JSON against the schemas in docs/schema: the part of JSON Schema that they use, and nothing unknown passes.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::Value;

/// The schema docs/schema/`name`.json.
pub(crate) fn load(name: &str) -> Value {
    let file = format!("{}/../../docs/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Panics with the path to the value that does not fit `schema`'s definition `name`.
#[track_caller]
pub(crate) fn assert_fits(schema: &Value, name: &str, value: &Value) {
    let definition = &schema["$defs"][name];
    assert!(definition.is_object(), "the schema does not define {name}");
    if let Err(problem) = fits(schema, definition, value, name) {
        panic!("{problem}\n{value:#}");
    }
}

fn fits(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().ok_or(format!("{at}: the schema is no object"))? {
        match keyword.as_str() {
            "description" => {}
            "$ref" => {
                let target = rule.as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
                fits(root, target.ok_or(format!("{at}: {rule} leads nowhere"))?, value, at)?;
            }
            "type" => {
                let allowed = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !allowed.iter().any(|name| is(value, name.as_str().unwrap_or_default())) {
                    return Err(format!("{at} should be {rule} and is {value}"));
                }
            }
            "enum" if rule.as_array().is_some_and(|values| values.contains(value)) => {}
            "enum" => return Err(format!("{at} should be one of {rule} and is {value}")),
            "minimum" if value.as_f64().is_none_or(|number| Some(number) >= rule.as_f64()) => {}
            "minimum" => return Err(format!("{at} should be at least {rule} and is {value}")),
            "maximum" if value.as_f64().is_none_or(|number| Some(number) <= rule.as_f64()) => {}
            "maximum" => return Err(format!("{at} should be at most {rule} and is {value}")),
            // As in JSON Schema, of what is no object this says nothing: `type` does.
            "required" if !value.is_object() => {}
            "required" => {
                for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    value.get(name).ok_or(format!("{at} lacks {name}"))?;
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(part) = value.get(name) {
                        fits(root, schema, part, &format!("{at}.{name}"))?;
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(root, rule, item, &format!("{at}[{index}]"))?;
                }
            }
            "minItems" if value.as_array().is_none_or(|items| Some(items.len() as u64) >= rule.as_u64()) => {}
            // Documented means documented: a field that the schema does not name is an error here, not for readers.
            "unevaluatedProperties" => {
                for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                    if !named(root, schema, name) {
                        return Err(format!("{at}.{name} is not documented"));
                    }
                }
            }
            "allOf" => {
                for part in rule.as_array().into_iter().flatten() {
                    fits(root, part, value, at)?;
                }
            }
            other => return Err(format!("{at}: this checker does not know {other}, or it does not fit {value}")),
        }
    }
    Ok(())
}

/// Whether `schema` or a part of it names the property.
fn named(root: &Value, schema: &Value, property: &str) -> bool {
    let referred = schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
    schema["properties"].get(property).is_some()
        || referred.is_some_and(|schema| named(root, schema, property))
        || schema["allOf"].as_array().into_iter().flatten().any(|part| named(root, part, property))
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
