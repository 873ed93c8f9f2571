import Glibc
import Logging
import SyncAuthority
import SyncModel
import SyncRuntimeLive
import Testing

@testable import SyncProgram
@testable import TomboloServer

@Suite struct TerminalTextTests {
    /// Untrusted text with escape sequences, a second line, C1 controls, bidirectional overrides, and invisible
    /// characters.
    static let hostile =
        "\u{1B}]0;owned\u{7}\r\u{1B}[2K\u{9B}31m\u{202E}exe.txt\u{2069}\u{200B}\u{FEFF}\nsyncctl: in sync"

    private static func isSafe(_ text: String) -> Bool {
        !text.unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }

    @Test(arguments: [
        ("plain", "plain"), ("naïve 北 👩", "naïve 北 👩"), ("a\u{1B}[2Jb", "a\\u{1B}[2Jb"), ("a\u{7}b", "a\\u{7}b"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"), ("\u{202E}abc\u{2069}", "\\u{202E}abc\\u{2069}"), ("\u{9B}31m", "\\u{9B}31m"),
        ("a\u{200B}b\u{FEFF}", "a\\u{200B}b\\u{FEFF}"), ("a\u{2028}b", "a\\u{2028}b"), ("\u{E0041}", "\\u{E0041}"),
    ])
    func `safe characters are shown, and all others are shown as codes`(text: String, shown: String) {
        #expect(TerminalText.escaped(text) == shown)
        #expect(TerminalText.escaped(shown) == shown)
    }

    @Test func `an interpolated value is escaped, and the literal text is not`() {
        let text: TerminalText = "\u{1B}[31mserver\u{1B}[0m: \(Self.hostile)\n"
        #expect(text.rendered.hasPrefix("\u{1B}[31mserver\u{1B}[0m: \\u{1B}]0;owned\\u{7}\\r"))
        #expect(Self.isSafe(String(text.rendered.dropFirst("\u{1B}[31mserver\u{1B}[0m: ".count).dropLast())))
        let nested: TerminalText = "[\(text)]"
        #expect(nested.rendered == "[" + text.rendered + "]")
    }

    @Test func `a document keeps its line breaks, and its other control characters are escaped`() {
        #expect(TerminalText(document: "one\ntwo\u{1B}\r\n").rendered == "one\ntwo\\u{1B}\\r\n")
    }

    @Test func `a conflict is shown as a line of columns with escaped values`() {
        let client = ClientID(bits: Identifier128(high: 0, low: 1))
        let stamp = Stamp(time: .zero, client: client)
        let conflict = FieldConflict(
            collection: "user", record: RecordID(bits: Identifier128(high: 0, low: 2)), field: "username",
            base: .text("old"),
            winner: Contender(value: .text("a\tb"), stamp: stamp, account: AccountID(rawValue: "ann")),
            loser: Contender(value: .text(Self.hostile), stamp: stamp, account: AccountID(rawValue: "bob")),
            rule: .latestEdit)
        let line = ConflictText.line(
            RecordedConflict(
                number: 3, space: .default, version: Version(7),
                author: CommitAuthor(
                    principal: Principal(name: "ann"), identity: ClientIdentity(client: client, incarnation: 0),
                    number: TransactionNumber(0),
                    committedAt: WallTime(milliseconds: 0)), conflict: conflict), SchemaCatalog([]))
        let columns = line.rendered.split(separator: "\t").map(String.init)
        #expect(columns.prefix(2) == ["3", "version 7"])
        #expect(columns.count == 6 && columns[4] == "kept: 'a\\tb' by ann on \(client)")
        #expect(columns.allSatisfy(Self.isSafe))
    }

    @Test func `escaping JSON for a terminal keeps its value`() {
        let text = TerminalText(json: "{\"a\":\"\u{9B}\u{202E}\u{E0041}ü\"}").rendered
        #expect(text == #"{"a":"\u009B\u202E\uDB40\uDC41ü"}"#)
    }

    @Test func `a log entry is always one line`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let stream = LogStream(sink: ByteSink(descriptor: ends[1]))
        let logger = Logger(label: "syncd") { StreamLogHandler(label: $0, stream: stream) }
        logger.error("\(Self.hostile)", metadata: ["reason": "\(Self.hostile)", "\u{1B}[7m": "key"])
        close(ends[1])
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        let line = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        #expect(line.hasSuffix("\n"))
        #expect(Self.isSafe(String(line.dropLast())), "\(line)")
        #expect(line.contains("error syncd:") && line.contains("\\nsyncctl: in sync"), "\(line)")
    }

    @Test func `a log that nobody reads drops entries, and the next one follows their number`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        // A pipe of two pages. Glibc's module does not have F_SETPIPE_SZ of fcntl(2).
        let setPipeSize: Int32 = 1_031
        try #require(fcntl(ends[1], setPipeSize, 8_192) == 8_192)
        let stream = LogStream(sink: ByteSink(descriptor: ends[1]))
        let filler = String(repeating: "x", count: ByteSink.atomicBytes - 1)
        for entry in [filler, filler, "lost", "lost, too"] { stream.write(entry + "\n") }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        #expect(read(ends[0], &buffer, buffer.count) == 2 * ByteSink.atomicBytes)
        stream.write("kept\n")
        let count = read(ends[0], &buffer, buffer.count)
        let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        #expect(text == "2 log entries were dropped: nobody read them\nkept\n")
    }
}
