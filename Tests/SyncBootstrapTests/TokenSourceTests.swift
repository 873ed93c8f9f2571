import Foundation
import Testing

@testable import SyncBootstrap

@Suite struct TokenSourceTests {
    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + ".new"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + ".new")
        #expect(rename(path + ".new", path) == 0)
    }

    @Test func `a rotated token is used, and the last good one while the file is missing or invalid`() throws {
        let path = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.write("first\n", to: path)
        let source = try TokenSource(file: path)
        #expect(source.current.secret == "first")
        try Self.write("other\n", to: path)
        #expect(source.current.secret == "other")
        try Self.write("not a token\n", to: path)
        #expect(source.current.secret == "other")
        try FileManager.default.removeItem(atPath: path)
        #expect(source.current.secret == "other")
        try Self.write("third\n", to: path)
        #expect(source.current.secret == "third")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(source.current.secret == "third")
    }

    @Test func `a token without a file stays`() {
        #expect(TokenSource(Token("fixed")).current.secret == "fixed")
    }

    @Test func `a source shows no secret`() {
        #expect(!"\(TokenSource(Token("canary")))".contains("canary"))
        #expect(!String(reflecting: TokenSource(Token("canary"))).contains("canary"))
    }
}
