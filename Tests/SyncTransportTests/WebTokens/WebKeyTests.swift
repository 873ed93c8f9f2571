import Foundation
import Glibc
import SyncAuthority
import SyncConcurrency
import TestRings
import Testing

@testable import SyncServerHTTP

/// The files with the keys of JSON Web Tokens.
@Suite(.ring(.unit)) struct WebKeyTests {
    private let folder: KeyFolder

    init() throws { folder = try KeyFolder() }

    private static func issuer() throws -> TokenIssuer { try TokenIssuer.known.get() }

    private static func stranger() throws -> TokenIssuer { try TokenIssuer.stranger.get() }

    // MARK: The start

    /// Contents that stop a server at its start, with a part of the error. `<ED>` and `<EC>` stand for valid keys.
    private static let invalid: [(keys: String, words: String)] = [
        ("", "byte 0: expected JSON"),
        ("garbage", "byte 0: expected JSON"),
        (#"{"keys":[<ED>]"#, "expected JSON"),
        ("[<ED>]", #"{"keys": [...]}"#),
        ("<ED>", #"{"keys": [...]}"#),
        (#"{"keys":<ED>}"#, #"{"keys": [...]}"#),
        (#"{"keys":[<ED>],"keys":[<EC>]}"#, "expected JSON with unique keys"),
        (#"{"keys":[]}"#, "has no key"),
        (#"{"keys":[1]}"#, "key 1: expected an object"),
        (#"{"keys":[<ED>,{}]}"#, "key 2: it has no kty"),
        (#"{"keys":[<ED>,<ED>]}"#, "key 2: its kid occurs twice"),
        (
            #"{"keys":[<ED>,<EC>,{"kty":"OKP","crv":"Ed25519","x":"X"}]}"#,
            "key 3: several keys are for EdDSA, so each needs a kid"
        ),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"X","d":"X"}]}"#, "it has the member d, a secret"),
        (#"{"keys":[{"kty":"oct","k":"X"}]}"#, "it has the member k, a secret"),
        (#"{"keys":[{"kty":"RSA","alg":"EdDSA","n":"X","e":"AQAB"}]}"#, "its alg is EdDSA, which does not fit"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"RS256","x":"X"}]}"#, "its alg is RS256, which does not fit"),
        (#"{"keys":[{"kty":"OKP","crv":"X25519","alg":"EdDSA","x":"X"}]}"#, "its alg is EdDSA, which does not fit"),
        (
            #"{"keys":[{"kty":"EC","crv":"P-384","alg":"ES256","x":"X","y":"X"}]}"#,
            "its alg is ES256, which does not fit"
        ),
        (#"{"keys":[{"kty":"RSA","n":"X","e":"AQAB"}]}"#, "it has no alg; expected alg RS256"),
        (#"{"keys":[{"kty":"RSA","alg":"RS256","n":"X","e":"AQAB"}]}"#, "its n is not 256 to 1024 bytes"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519"}]}"#, "it has no x"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":1}]}"#, "its x is not a string"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}"#, "its x is not 32 bytes of base64url"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"X="}]}"#, "its x is not 32 bytes of base64url"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"<ZERO>"}]}"#, "its x is a point of small order"),
        (#"{"keys":[{"kty":"EC","crv":"P-256","x":"X","y":"X"}]}"#, "its x and y are not a point of P-256"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"X","kid":""}]}"#, "its kid has 0 bytes"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"X","kid":1}]}"#, "its kid is not a string"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"X","key_ops":"verify"}]}"#, "its key_ops is not a list"),
    ]

    private static func filled(_ text: String) throws -> String {
        let issuer = try issuer()
        // The keys come last, because a random key may begin with any of these letters.
        return text.replacing(#""X"#, with: "\"" + TokenIssuer.base64URL([UInt8](repeating: 7, count: 32)))
            .replacing("<ZERO>", with: TokenIssuer.base64URL([UInt8](repeating: 0, count: 32)))
            .replacing("<ED>", with: try issuer.jwk(.ed)).replacing("<EC>", with: try issuer.jwk(.ec))
    }

    @Test(arguments: invalid) func `invalid keys stop the start, and the error names the key`(
        keys: String, words: String
    )
        throws
    {
        try folder.write(Self.filled(keys))
        let error = #expect(throws: WebTokenKeysError.self) { try folder.tokens() }
        #expect(error?.description.hasPrefix(folder.file) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func `keys with another purpose or algorithm are ignored`() async throws {
        let issuer = try Self.issuer()
        let x = TokenIssuer.base64URL([UInt8](repeating: 7, count: 32))
        try folder.write(
            TokenIssuer.set([
                #"{"kty":"RSA","use":"enc","alg":"RSA-OAEP","n":"\#(x)","e":"AQAB","kid":"1"}"#,
                #"{"kty":"RSA","alg":"PS256","n":"\#(x)","e":"AQAB","kid":"2"}"#,
                #"{"kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(x)","kid":"3"}"#,
                #"{"kty":"OKP","crv":"X25519","x":"\#(x)","kid":"4"}"#,
                #"{"kty":"OKP","crv":"Ed25519","key_ops":["sign"],"x":"\#(x)","kid":"5"}"#,
                #"{"kty":"AKP","alg":"ML-DSA-65","pub":"\#(x)","kid":"6"}"#,
                try issuer.jwk(.ed),
            ]))
        let tokens = try folder.tokens()
        #expect(tokens.keyCount == 1)
        #expect(try tokens.principal(bearing: issuer.token(#""alg":"EdDSA""#)) == TestServer.principal)
    }

    @Test func `a point of small order is recognized with either sign`() {
        var bytes = [UInt8](repeating: 0, count: 32)
        #expect(EdwardsPoint.hasSmallOrder(bytes))
        bytes[31] = 0x80
        #expect(EdwardsPoint.hasSmallOrder(bytes))
        bytes[0] = 2
        #expect(!EdwardsPoint.hasSmallOrder(bytes))
    }

    @Test(arguments: [0o666, 0o664, 0o646])
    func `keys that others can write are refused`(mode: Int) throws {
        try folder.write(Self.issuer().jwks(), mode: mode)
        let error = #expect(throws: WebTokenKeysError.self) { try folder.tokens() }
        #expect(error?.description == "others may write in \(folder.file): run chmod go-w on it")
    }

    @Test func `a folder of keys that others can write is refused`() throws {
        try folder.write(Self.issuer().jwks())
        #expect(chmod(folder.path, 0o777) == 0)
        let error = #expect(throws: WebTokenKeysError.self) { try folder.tokens(keys: folder.path) }
        #expect(error?.description == "others may write in \(folder.path): run chmod go-w on it")
    }

    @Test func `missing keys, a symbolic link, and a folder without keys are refused`() throws {
        #expect(throws: WebTokenKeysError(description: "\(folder.file) does not exist")) { try folder.tokens() }
        #expect(throws: WebTokenKeysError(description: "\(folder.path) has no key for EdDSA, ES256, or RS256")) {
            try folder.tokens(keys: folder.path)
        }
        try FileManager.default.createSymbolicLink(atPath: folder.file, withDestinationPath: "/etc/hostname")
        #expect(throws: WebTokenKeysError.self) { try folder.tokens() }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `keys that belong to another user are refused`() throws {
        try folder.write(Self.issuer().jwks())
        #expect(chown(folder.file, 12_345, 12_345) == 0)
        let error = #expect(throws: WebTokenKeysError.self) { try folder.tokens() }
        #expect(error?.description.contains("12345") == true)
    }

    // MARK: Changes

    @Test func `keys rotate without a refused token, and a key that was taken out revokes its tokens`() async throws {
        let (old, new) = (try Self.issuer(), try Self.stranger())
        let oldKeys = TokenIssuer.set([try old.jwk(.ed, id: "old")])
        let bothKeys = TokenIssuer.set([try old.jwk(.ed, id: "old"), try new.jwk(.ed, id: "new")])
        let newKeys = TokenIssuer.set([try new.jwk(.ed, id: "new")])
        let oldToken = try old.token(#""alg":"EdDSA","kid":"old""#)
        let newToken = try new.token(#""alg":"EdDSA","kid":"new""#)
        try folder.write(oldKeys)
        let tokens = try folder.tokens()
        #expect(tokens.principal(bearing: oldToken) != nil)
        #expect(tokens.principal(bearing: newToken) == nil)
        let folder = folder
        let refused = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                for _ in 0..<20 {
                    try folder.write(bothKeys)
                    await Task.yield()
                    try folder.write(oldKeys)
                }
                try folder.write(bothKeys)
                return 0
            }
            for _ in 0..<4 {
                group.addTask {
                    var refused = 0
                    for _ in 0..<50 where tokens.principal(bearing: oldToken) == nil { refused += 1 }
                    return refused
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(refused == 0)
        #expect(tokens.principal(bearing: oldToken) != nil)
        #expect(tokens.principal(bearing: newToken) != nil)
        try folder.write(newKeys)
        #expect(tokens.principal(bearing: oldToken) == nil, "a key that was taken out revokes its tokens")
        #expect(tokens.principal(bearing: newToken) != nil)
    }

    @Test func `invalid keys leave the earlier ones in use, and missing keys leave none`() async throws {
        let issuer = try Self.issuer()
        let token = try issuer.token()
        let lines = Guarded<[String]>([])
        try folder.write(issuer.jwks())
        let tokens = try folder.tokens(log: lines)
        func isAccepted() async -> Bool {
            var count = 0
            for _ in 0..<10 where tokens.principal(bearing: token) != nil { count += 1 }
            return count == 10
        }
        /// Whether the log has one new line, apart from those about tokens, with these words in any order.
        func hasLogged(_ words: String...) -> Bool {
            lines.withLock { lines in
                defer { lines = [] }
                let about = lines.filter { !$0.contains("was refused") }
                return about.count == 1 && words.allSatisfy { about[0].contains($0) }
            }
        }
        #expect(await isAccepted())
        #expect(lines.withLock { $0.isEmpty })
        #expect(!tokens.hasStaleKeys)

        try folder.write("garbage")
        #expect(await isAccepted())
        #expect(tokens.hasStaleKeys && tokens.keyCount == 3)
        #expect(
            hasLogged(
                "error the keys of JSON Web Tokens cannot be used: the earlier ones stay accepted",
                "\"error\": \(folder.file): byte 0: expected JSON with unique keys", "\"keys\": 3"))

        try folder.write(TokenIssuer.set([try issuer.jwk(.ed), try issuer.jwk(.ec)]))
        #expect(await isAccepted())
        #expect(!tokens.hasStaleKeys && tokens.keyCount == 2)
        #expect(hasLogged("notice the keys of JSON Web Tokens were read again", "\"ignored\": 0", "\"keys\": 2"))

        try folder.remove()
        #expect(await !isAccepted())
        #expect(tokens.keyCount == 0)
        #expect(
            hasLogged(
                "error the keys of JSON Web Tokens are missing: none is accepted until they exist again", folder.file))

        try folder.write(issuer.jwks())
        #expect(await isAccepted())
    }

    @Test func `the files of a folder are read together, and each may come and go`() async throws {
        let (ann, bo) = (try Self.issuer(), try Self.stranger())
        let annToken = try ann.token(#""alg":"EdDSA","kid":"a""#)
        let boToken = try bo.token(#""alg":"EdDSA","kid":"b""#)
        try folder.write(TokenIssuer.set([try ann.jwk(.ed, id: "a")]), to: "a.json")
        try folder.write("not keys", to: "README")
        let tokens = try folder.tokens(keys: folder.path)
        #expect(tokens.principal(bearing: boToken) == nil)
        try folder.write(TokenIssuer.set([try bo.jwk(.ed, id: "b")]), to: "b.json")
        #expect(tokens.principal(bearing: annToken) != nil)
        #expect(tokens.principal(bearing: boToken) != nil)
        // A copy of the same key under the same kid would make the choice between the files arbitrary.
        try folder.write(TokenIssuer.set([try bo.jwk(.ed, id: "a")]), to: "c.json")
        #expect(tokens.principal(bearing: annToken) != nil)
        #expect(tokens.hasStaleKeys)
        try folder.remove("c.json")
        try folder.remove("a.json")
        #expect(tokens.principal(bearing: annToken) == nil)
        #expect(tokens.principal(bearing: boToken) != nil)
        #expect(!tokens.hasStaleKeys)
    }
    @Test func `a folder that must not be used leaves the earlier keys in use until it is corrected`() async throws {
        let issuer = try Self.issuer()
        let (edToken, ecToken) = (try issuer.token(), try issuer.token(by: .ec))
        let lines = Guarded<[String]>([])
        try folder.write(TokenIssuer.set([try issuer.jwk(.ed)]))
        let tokens = try folder.tokens(keys: folder.path, log: lines)
        try folder.write(TokenIssuer.set([try issuer.jwk(.ec)]))
        #expect(chmod(folder.path, 0o777) == 0)
        for _ in 0..<10 { #expect(tokens.principal(bearing: edToken) != nil) }
        #expect(tokens.hasStaleKeys)
        #expect(lines.withLock { $0.count } == 1)
        #expect(chmod(folder.path, 0o755) == 0)
        #expect(tokens.principal(bearing: edToken) == nil)
        #expect(tokens.principal(bearing: ecToken) != nil)
        #expect(!tokens.hasStaleKeys)
    }
}
