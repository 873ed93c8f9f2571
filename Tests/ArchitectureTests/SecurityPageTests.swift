import Foundation
import Testing

/// Checks the table of attacks in the documentation's page on security: its numbers, its states, and the tests that it
/// names.
@Suite struct SecurityPageTests {
    private struct Row {
        let number: String
        let state: String
        /// The texts in backticks that are sentences. The others are names of files or code.
        let tests: [String]
    }

    private static func rows() throws -> [Row] {
        let page = try String(
            contentsOf: SourceTree.root.appending(path: "Sources/Root/Tombolo/Tombolo.docc/Security.md"),
            encoding: .utf8)
        return page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, let number = cells.first, number.hasPrefix("S"), Int(number.dropFirst()) != nil
            else {
                return nil
            }
            let quoted = cells[3].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            return Row(number: number, state: cells[2], tests: quoted.filter { $0.contains(" ") })
        }
    }

    @Test func `the table lists each attack once, in order, with a valid state`() throws {
        let rows = try Self.rows()
        #expect(rows.map(\.number) == (1...44).map { "S\($0)" })
        for row in rows {
            #expect(["Done", "Not applicable", "Accepted", "Open"].contains(row.state), "\(row.number)")
        }
    }

    @Test func `each attack that is done names a test, and all named tests exist`() throws {
        let names = try SourceTree.testNames()
        #expect(names.count > 500)
        for row in try Self.rows() {
            if row.state == "Done" { #expect(!row.tests.isEmpty, "\(row.number)") }
            for test in row.tests { #expect(names.contains(test), "\(row.number): no test is named '\(test)'") }
        }
    }

    @Test func `the attack number in a test name is in the table`() throws {
        let rows = try Self.rows()
        for name in try SourceTree.testNames() {
            guard let match = name.wholeMatch(of: /(S[0-9]+): .*/) else { continue }
            let row = rows.first { $0.number == String(match.1) }
            #expect(row != nil, "\(name)")
        }
    }
}
