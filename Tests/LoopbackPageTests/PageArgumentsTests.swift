import TestRings
import Testing

@testable import LoopbackPage

@Suite(.ring(.unit)) struct PageArgumentsTests {
    private func arguments(_ json: String) throws(PageError) -> PageArguments {
        try PageArguments(Array(json.utf8))
    }

    @Test func `arguments of another kind, and unknown ones, are refused with what was expected`() throws {
        for json in ["", "[]", "1", "{", #"{"a":1,"a":1}"#, #"{"a":"\#u{FFFD}"#] {
            #expect(throws: PageError.self) { try arguments(json) }
        }
        let given = try arguments(#"{"text":"a","number":7,"flag":true,"nothing":null,"fields":{"a":"b","c":1}}"#)
        #expect(try given.text("text") == "a" && given.number("number") == 7 && given.flag("flag"))
        #expect(try given.text("nothing") == nil && given.text("absent") == nil && !given.flag("absent"))
        #expect(throws: PageError(400, "the argument text is missing or of another kind; expected a whole number")) {
            try given.number("text")
        }
        #expect(throws: PageError.self) { try given.requiredText("absent") }
        #expect(throws: PageError.self) { try given.texts("fields") }
        #expect(throws: PageError.self) { try given.record("text") }
        #expect(
            throws: PageError(400, "the argument 'fields' is unknown; expected text, number, flag, nothing")
        ) { try given.require(only: "text", "number", "flag", "nothing") }
        #expect(try arguments(#"{"limit":1000000}"#).limit(upTo: 50) == 50)
        #expect(throws: PageError.self) { try arguments(#"{"limit":0}"#).limit(upTo: 50) }
    }
}
