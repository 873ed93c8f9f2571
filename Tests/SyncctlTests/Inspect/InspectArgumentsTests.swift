import SyncConcurrency
import SyncCore
import SyncJSON
import SyncModel
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.unit)) struct InspectArgumentsTests {
    private func arguments(_ json: String) throws(InspectRefusal) -> InspectArguments {
        try InspectArguments(Array(json.utf8))
    }

    @Test func `arguments of another kind, and unknown ones, are refused with what was expected`() throws {
        for json in ["", "[]", "1", "{", #"{"a":1,"a":1}"#, #"{"a":"\#u{FFFD}"#] {
            #expect(throws: InspectRefusal.self) { try arguments(json) }
        }
        let given = try arguments(#"{"text":"a","number":7,"flag":true,"nothing":null,"fields":{"a":"b","c":1}}"#)
        #expect(try given.text("text") == "a" && given.number("number") == 7 && given.flag("flag"))
        #expect(try given.text("nothing") == nil && given.text("absent") == nil && !given.flag("absent"))
        #expect(throws: InspectRefusal(400, "the argument text is missing or of another kind; expected a whole number"))
        {
            try given.number("text")
        }
        #expect(throws: InspectRefusal.self) { try given.requiredText("absent") }
        #expect(throws: InspectRefusal.self) { try given.texts("fields") }
        #expect(throws: InspectRefusal.self) { try given.record("text") }
        #expect(throws: InspectRefusal.self) { try given.cursor("text") }
        #expect(
            throws: InspectRefusal(400, "the argument 'fields' is unknown; expected text, number, flag, nothing")
        ) { try given.require(only: "text", "number", "flag", "nothing") }
        #expect(try arguments(#"{"limit":1000000}"#).limit(upTo: 50) == 50)
        #expect(throws: InspectRefusal.self) { try arguments(#"{"limit":0}"#).limit(upTo: 50) }
    }

    @Test func `a position in a list returns unchanged, whatever the values of its keys`() throws {
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        let values: [FieldValue] = [
            .null, .boolean(true), .integer(.max), .integer(.min), .real(-0.1), .real(1e300), .text("é\n\"\u{202E}"),
            .text(""), .json("{\"a\": 1}"), .reference(id),
        ]
        let text = InspectCursor.json(RecordCursor(values: values)).text
        #expect(try arguments(#"{"after":\#(text)}"#).cursor("after")?.values == values)
        for wrong in [
            "[1]", "[[]]", #"[["integer","x"]]"#, #"[["integer"]]"#, #"[["null",1]]"#, #"[["real","nan"]]"#,
            #"[["blob","x"]]"#, "{}",
        ] { #expect(throws: InspectRefusal.self) { try arguments(#"{"after":\#(wrong)}"#).cursor("after") } }
    }
}

@Suite(.ring(.unit)) struct StoreNewsTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "a", fields: []), ModelSchema(collection: "b", fields: []),
    ])

    @Test func `each reader gets what has changed since its own number`() {
        var news = StoreNews()
        let start = news.latest
        #expect(news.parts(since: start, in: Self.catalog) == nil)
        news.note(StoreChange(extents: ["a": .all], addsToOutbox: true))
        let middle = news.latest
        news.note(StoreChange(extents: ["b": .all]))
        news.note(StoreChange())
        #expect(news.latest == middle + 1)
        #expect(
            news.parts(since: start, in: Self.catalog) == .init(collections: ["a", "b"], outbox: true, spaces: false))
        #expect(news.parts(since: middle, in: Self.catalog) == .init(collections: ["b"], outbox: false, spaces: false))
        #expect(news.parts(since: news.latest, in: Self.catalog) == nil)
        news.note(StoreChange(touchesSpaces: true))
        #expect(news.parts(since: middle + 1, in: Self.catalog) == .init(collections: [], outbox: false, spaces: true))
    }

    @Test func `a number of another run counts as everything`() {
        let news = StoreNews()
        for number in [Int64.min, 0, news.latest + 1, .max] {
            #expect(
                news.parts(since: number, in: Self.catalog)
                    == .init(collections: ["a", "b"], outbox: true, spaces: true))
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a wait ends with the next change, and with the end of the store`() async {
        let (feed, changes) = (StoreNewsFeed(), Broadcast<StoreChange>())
        let subscription = changes.subscribe()
        async let following: Void = feed.follow(subscription)
        let start = feed.current.latest
        await feed.wait(since: start) { _ in changes.publish(StoreChange(extents: ["a": .all])) }
        #expect(feed.current.parts(since: start, in: Self.catalog)?.collections == ["a"])
        await feed.wait(since: start) { _ in Issue.record("there is news already, so that nothing can end the wait") }
        await feed.wait(since: feed.current.latest) { end in
            end()
            end()
        }
        await feed.wait(since: feed.current.latest) { _ in changes.finish() }
        await following
        #expect(feed.current.isOver)
        await feed.wait(since: feed.current.latest) { _ in Issue.record("no change will come") }
    }
}
