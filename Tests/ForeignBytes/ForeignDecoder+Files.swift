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
        configuration, catalog, clientToken, serverTokens, webToken, webKeys, recording, recordingEntry, replay,
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

    /// A JSON Web Token, of which nothing is verified. Each token has only one text.
    private static let webToken = ForeignDecoder(
        "web-token",
        seeds: {
            let header = #"{"alg":"EdDSA","typ":"JWT","kid":"1"}"#
            let claims = #"{"iss":"i","aud":["a","b"],"sub":"ann","exp":1800000000,"nbf":1700000000,"iat":1700000000}"#
            let signature = [UInt8](repeating: 7, count: 64)
            let parts = [Array(header.utf8), Array(claims.utf8), signature].map { Self.base64URL($0) }
            return [
                Array(parts.joined(separator: ".").utf8),
                Array((parts.dropLast() + ["AA"]).joined(separator: ".").utf8),
            ]
        },
        check: { bytes in
            guard let text = String(validating: bytes, as: UTF8.self), let token = try? WebToken(text) else { return }
            let message = String(decoding: token.message, as: UTF8.self)
            guard message.hasSuffix("." + Self.base64URL(token.payload)),
                text == message + "." + Self.base64URL(token.signature)
            else { throw PropertyViolation("a token with two texts: \(text)") }
            let rules = WebTokenRules(issuer: "i", audience: "a")
            guard let claims = try? WebTokenClaims(token.payload, rules) else { return }
            guard Principal.isValidName(claims.principal.name), claims.beginning.milliseconds >= -60_000 else {
                throw PropertyViolation("claims that no token has: \(claims)")
            }
        })

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The keys of an issuer. A set that is read twice has each `kid` twice, unless it has none.
    private static let webKeys = ForeignDecoder(
        "web-keys",
        seeds: {
            [
                #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"1"}]}"#,
                #"{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","key_ops":["verify"],"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#,
                #"{"keys":[{"kty":"RSA","use":"enc","alg":"RSA-OAEP","n":"AQAB","e":"AQAB"}]}"#,
            ].map { Array($0.utf8) }
        },
        check: { bytes in
            var keys = WebKeySet()
            guard (try? keys.add(bytes)) != nil, keys.count > 0 else { return }
            let count = keys.count
            guard (try? keys.add(bytes)) == nil, keys.count == count else {
                throw PropertyViolation("the same keys were accepted twice")
            }
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
