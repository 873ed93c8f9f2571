import SyncSimulation
import Testing

@testable import RecordImport

private func rows(_ text: String) -> [[String]] {
    rows(Array(text.utf8))
}

private func rows(_ bytes: [UInt8]) -> [[String]] {
    CSVTable(bytes).map { row in
        switch row {
        case .success(let row): ["\(row.line)"] + row.cells
        case .failure(let problem): ["broken", "\(problem.line)"]
        }
    }
}

@Suite struct CSVTableTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let expected: [[String]]

        init(_ what: String, _ text: String, _ expected: [[String]]) {
            testDescription = what
            self.text = text
            self.expected = expected
        }
    }

    static let cases = [
        Case("nothing", "", []),
        Case("a row without a line end", "a,b", [["1", "a", "b"]]),
        Case("CRLF and LF", "a,b\r\nc,d\n", [["1", "a", "b"], ["2", "c", "d"]]),
        Case("a byte order mark", "\u{FEFF}a\n", [["1", "a"]]),
        Case("empty fields", ",\n,,\n", [["1", "", ""], ["2", "", "", ""]]),
        Case("blank lines are no rows, and count", "\n\r\na\n\nb\n", [["3", "a"], ["5", "b"]]),
        Case("a quoted comma", "\"a,b\",c\n", [["1", "a,b", "c"]]),
        Case("doubled quotation marks", "\"say \"\"hi\"\"\",\"\"\n", [["1", "say \"hi\"", ""]]),
        Case("a line break in quotes", "\"a\r\nb\",c\nd,e\n", [["1", "a\r\nb", "c"], ["3", "d", "e"]]),
        Case("a lone carriage return is text", "a\rb,c\n", [["1", "a\rb", "c"]]),
        Case("spaces belong to the field", " a , b \n", [["1", " a ", " b "]]),
        Case("a quotation mark inside a plain field", "a\"b,c\nd,e\n", [["broken", "1"], ["2", "d", "e"]]),
        Case("text after a closing mark", "\"a\"b,c\nd,e\n", [["broken", "1"], ["2", "d", "e"]]),
        Case("quotes that are never closed", "x\n\"a,b\nc,d\n", [["1", "x"], ["broken", "2"], ["3", "c", "d"]]),
        Case("a quoted last field at the end of the file", "a,\"b\"", [["1", "a", "b"]]),
        Case("a comma at the end of the file", "a,", [["1", "a", ""]]),
    ]

    @Test(arguments: cases)
    func `a table is read according to RFC 4180`(_ example: Case) {
        #expect(rows(example.text) == example.expected)
    }

    @Test func `a field that is not UTF-8 invalidates only its row`() {
        #expect(rows([0x61, 0x2C, 0xFF, 0x0A, 0x62, 0x0A]) == [["broken", "1"], ["2", "b"]])
        // The lines of a quoted field are no rows.
        let quoted: [UInt8] = [0x22, 0xFF, 0x0A] + Array("ada\nbob\",c\nd\n".utf8)
        #expect(rows(quoted) == [["broken", "1"], ["4", "d"]])
    }

    @Test func `a row that is too long is refused, and the next row is read`() {
        let long = String(repeating: "x", count: ImportLimits.rowBytes + 1)
        #expect(rows(long + "\nb\n") == [["broken", "1"], ["2", "b"]])
        #expect(rows("\"\(long)\nada\",c\nb\n") == [["broken", "1"], ["3", "b"]])
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `any bytes are read as rows and problems in line order`(seed: UInt64) {
        var random = SeededRandom(seed: seed, stream: "csv")
        let alphabet = Array("a,\"\r\n\u{FEFF}".utf8)
        for _ in 0..<100 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            let lines = CSVTable(bytes).map { row in
                switch row {
                case .success(let row): row.line
                case .failure(let problem): problem.line
                }
            }
            #expect(lines == lines.sorted(), "\(bytes)")
            #expect(lines.count <= bytes.count + 1, "\(bytes)")
        }
    }
}
