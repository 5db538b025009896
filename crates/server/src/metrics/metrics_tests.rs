//! Tests of what is counted of calls.

use super::*;

fn call(route: Option<&str>, status: Option<u16>, end: CallEnd) -> CallFigures<'_> {
    CallFigures {
        door: Dialect::OpenAi,
        route,
        status: status.map(|status| StatusCode::from_u16(status).unwrap()),
        took: Duration::from_millis(3),
        streamed: false,
        first_byte: None,
        end,
        unescaped: UnescapeCount::default(),
    }
}

#[test]
fn calls_are_counted_by_route_and_class() {
    let metrics = Metrics::default();
    for (route, status) in [(Some("/a/{id}"), Some(200)), (Some("/a/{id}"), Some(404)), (None, Some(404)), (None, None)]
    {
        metrics.call(&call(route, status, CallEnd::Complete));
    }
    // A status that HTTP does not know is no reason to fall over.
    metrics.call(&call(None, Some(999), CallEnd::Complete));
    let counts = |route: &str| metrics.openai.route(route).statuses.each_ref().map(|count| count.load(Relaxed));
    assert_eq!(counts("/a/{id}"), [0, 0, 1, 0, 1, 0]);
    assert_eq!(counts(NO_ROUTE), [1, 0, 0, 0, 1, 0]);
    assert_eq!(metrics.openai.route("/a/{id}").took.count(), 2);
    assert!(metrics.letta.routes.read().unwrap().is_empty());
}

#[test]
fn a_stream_is_open_until_it_is_over() {
    let metrics = Metrics::default();
    metrics.stream_opened(Dialect::OpenAi);
    metrics.stream_opened(Dialect::OpenAi);
    let unescaped = UnescapeCount { passed: 1, passed_bytes: 5, ..UnescapeCount::default() };
    metrics.call(&CallFigures { streamed: true, unescaped, ..call(None, Some(200), CallEnd::Left) });
    assert_eq!(metrics.openai.open_streams.load(Relaxed), 1);
    assert_eq!(metrics.openai.streams.each_ref().map(|count| count.load(Relaxed)), [0, 1, 0]);
    assert_eq!(metrics.unescaped.passed_bytes.load(Relaxed), 5);
}
