import Foundation
import SyncAuthority
import SyncBootstrap
import SyncJSON
import SyncModel
import SyncProgram
import SyncRecording
import SyncServerHTTP
import SyncWire
import TomboloServer

extension ForeignDecoder {
    /// Files that people write, copy, and send: configuration, tokens, and recordings.
    static let files: [ForeignDecoder] = [
        configuration, catalog, clientToken, serverTokens, recording, recordingEntry, replay,
    ]

    private static let configuration = ForeignDecoder(
        "configuration",
        seeds: {
            [
                #"{"environment":"development","log":{"level":"info"},"sync":{"poll-interval":"30s","hints":true}}"#,
                #"{"$schema":"x","server":{"url":"https://example.org","request-timeout":"1m"},"sync.page-rows":500}"#,
                #"{"listen":{"host":"127.0.0.1","port":0},"authority":{"folder":"/tmp/a","kept-commits":1000}}"#,
            ].map { Array($0.utf8) }
        },
        check: { bytes in
            guard let file = try? ConfigurationFile(path: "config.json", text: Data(bytes)) else { return }
            try requireRoundTrip(
                of: file.values, decode: { try ConfigurationFile(path: "config.json", text: Data($0)).values },
                encode: flat)
            let sources = ConfigurationSources(ProgramNames("fuzzed"), variables: ["HOME": "/none"], file: file)
            _ = try? ClientSettings(ResolvedConfiguration(sources))
            _ = try? ServerSettings(ResolvedConfiguration(sources))
        })

    /// Encodes the values under dotted names.
    private static func flat(_ values: [String: GivenValue]) throws -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            switch value.jsonType {
            case "string": writer.string(value.text)
            case "integer": writer.integer(try Self.require(Int64(value.text)))
            case "boolean": writer.boolean(try Self.require(Bool(value.text)))
            default: throw PropertyViolation("a value that no key takes: \(name)")
            }
        }
        writer.endObject()
        return writer.bytes
    }

    private static func require<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw PropertyViolation("a value that is not of its own type") }
        return value
    }

    /// A catalog as a store keeps it. It may name rules that this program does not have.
    private static let catalog = ForeignDecoder(
        "catalog", seeds: { [try GoldenExamples.catalog()] }, decode: { try CatalogCodec.decodeStored($0) },
        encode: { try CatalogCodec.encode($0) })

    private static let clientToken = ForeignDecoder(
        "client-token", seeds: { ["0123456789abcdef\n", "token\r\nsecond line\n"].map { Array($0.utf8) } },
        decode: { try Token(contents: Data($0), of: "token") }, encode: { Array($0.secret.utf8) })

    /// A token file of the server, with one line per token. The encoder writes the lines in order, without comments.
    private static let serverTokens = ForeignDecoder(
        "server-tokens",
        seeds: {
            let line = TokenFile.line(principal: "ada", token: "0123")
            return [
                line + "\n", "# tokens\r\n\r\n\(line)\r\n" + TokenFile.line(principal: "bob", token: "4567") + "\r\n",
            ]
            .map { Array($0.utf8) }
        },
        decode: { try TokenFile.parse(String(decoding: $0, as: UTF8.self), "tokens") },
        encode: { principals in
            let lines = principals.map { digest, principal in
                "\(principal.name) \(Hexadecimal.text(of: digest))\n"
            }
            return Array(lines.sorted().joined().utf8)
        })

    private static let recording = ForeignDecoder(
        "recording", seeds: { [try GoldenExamples.recording()] }, decode: RecordingFile.recording,
        encode: { RecordingFile.bytes($0) })

    private static let recordingEntry = ForeignDecoder(
        "recording-entry", seeds: recordingLines,
        decode: { bytes in
            guard let line = String(validating: bytes, as: UTF8.self) else { throw PropertyViolation("no UTF-8") }
            return try EntryCodec.entry(line)
        },
        encode: { Array(EntryCodec.line($0).utf8) })

    /// A replay must accept any recording, even one that the state machines would not have produced.
    private static let replay = ForeignDecoder(
        "replay",
        seeds: { [Array(try recordingLines().joined(separator: [UInt8(ascii: "\n")]))] },
        check: { bytes in
            var replay = Replay()
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let text = String(validating: line, as: UTF8.self), let entry = try? EntryCodec.entry(text) else {
                    continue
                }
                _ = replay.follow(entry)
            }
        })

    /// Returns the entries of the golden recording: its lines without the header and the closing line.
    @Sendable private static func recordingLines() throws -> [[UInt8]] {
        try GoldenExamples.recording().split(separator: UInt8(ascii: "\n")).dropFirst().dropLast().map(Array.init)
    }
}
