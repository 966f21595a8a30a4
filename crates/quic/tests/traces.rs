//! Traces of a real connection follow the schema that docs/qlog.md names, at both ends.

mod loopback;

use loopback::{PATIENCE, Paced, configured, connect, pattern};
use noq::Endpoint;
use pcc_quic::qlog::{Qlog, traced};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, socket};
use serde_json::Value;
use std::path::Path;
use std::time::UNIX_EPOCH;
use tokio::time::timeout;

const BYTES: usize = 1_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_follow_the_schema_in_the_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let qlog = Qlog::open(dir.path()).unwrap();
    let runtime = Paced::ByUs.runtime();
    let [near, far] = [(); 2].map(|()| {
        let (algorithm, trace) = traced(Some(&qlog), Algorithm::default());
        let mut config = transport::config(&algorithm, &Windows::default());
        config.qlog_factory(trace.unwrap());
        let (server, client) = configured(config);
        let bound = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let endpoint = Endpoint::new(Default::default(), Some(server), bound.socket, runtime.clone()).unwrap();
        endpoint.set_default_client_config(client);
        endpoint
    });
    let moved = async {
        let (client, server) = connect(&near, &far).await;
        let send = async {
            let mut stream = client.open_uni().await.unwrap();
            stream.write_all(&pattern(BYTES)).await.unwrap();
            stream.finish().unwrap();
            stream.stopped().await.unwrap();
        };
        let receive = async { server.accept_uni().await.unwrap().read_to_end(BYTES).await.unwrap() };
        tokio::join!(send, receive);
        client.close(0u32.into(), b"");
        server.closed().await;
    };
    timeout(PATIENCE, moved).await.unwrap();
    timeout(PATIENCE, async { tokio::join!(near.wait_idle(), far.wait_idle()) }).await.unwrap();
    drop((near, far));

    let mut paths: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_by_key(|path| path.to_str().unwrap().ends_with("-server.sqlog"));
    assert_eq!(paths.len(), 2);
    let client = events(&paths[0], "client");
    events(&paths[1], "server");
    for name in ["quic:packet_sent", "quic:packet_received", "pcc:interval_done", "pcc:rate_decision"] {
        assert!(client.iter().any(|found| found == name), "{name} is missing");
    }
}

/// The names of the events behind a header as draft-ietf-quic-qlog-main-schema-13 wants it.
fn events(path: &Path, side: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let records: Vec<Value> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line.strip_prefix('\u{1e}').unwrap()).unwrap())
        .collect();
    let (header, events) = records.split_first().unwrap();
    assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(header["serialization_format"], "application/qlog+json-seq");
    let trace = &header["trace"];
    assert_eq!(trace["vantage_point"]["type"], side);
    let common = &trace["common_fields"];
    assert_eq!((common["time_format"].as_str(), common["group_id"].is_string()), (Some("relative_to_epoch"), true));
    let clock = &common["reference_time"];
    assert_eq!((clock["clock_type"].as_str(), clock["epoch"].as_str()), (Some("monotonic"), Some("unknown")));
    let began = humantime::parse_rfc3339(clock["wall_clock_time"].as_str().unwrap()).unwrap();
    let named = path.file_name().unwrap().to_str().unwrap().split('-').next().unwrap();
    assert_eq!(began.duration_since(UNIX_EPOCH).unwrap().as_millis().to_string(), named);
    let schemas: Vec<_> = trace["event_schemas"].as_array().unwrap().iter().map(|uri| uri.as_str().unwrap()).collect();
    let mut latest = 0.0;
    for event in events {
        let (time, name) = (event["time"].as_f64().unwrap(), event["name"].as_str().unwrap());
        assert!(time >= latest, "{event} after {latest}");
        latest = time;
        let (space, _) = name.split_once(':').unwrap();
        assert!(schemas.iter().any(|uri| uri.contains(&format!(":events:{space}"))), "{name} has no schema");
        assert!(event["data"].is_object(), "{event}");
        let is_expired = event["data"]["event_type"] == "expired";
        assert!(name != "quic:timer_updated" || is_expired, "{event}");
    }
    events.iter().map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}
