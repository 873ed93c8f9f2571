import LoopbackPage
import SyncJSON
import SyncModel
import SyncProgram
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.unit)) struct InspectCursorTests {
    private static func arguments(_ json: String) throws(PageError) -> PageArguments {
        try PageArguments(Array(json.utf8))
    }

    @Test func `a position in a list returns unchanged, whatever the values of its keys`() throws {
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        let values: [FieldValue] = [
            .null, .boolean(true), .integer(.max), .integer(.min), .real(-0.1), .real(1e300), .text("é\n\"\u{202E}"),
            .text(""), .json("{\"a\": 1}"), .reference(id),
        ]
        let text = InspectCursor.json(RecordCursor(values: values)).text
        #expect(try Self.arguments(#"{"after":\#(text)}"#).cursor("after")?.values == values)
        for wrong in [
            #""text""#, "[1]", "[[]]", #"[["integer","x"]]"#, #"[["integer"]]"#, #"[["null",1]]"#, #"[["real","nan"]]"#,
            #"[["blob","x"]]"#, "{}",
        ] { #expect(throws: PageError.self) { try Self.arguments(#"{"after":\#(wrong)}"#).cursor("after") } }
    }
}
