import Foundation
import TestRings
import Testing

@testable import syncctl

/// `syncd` and `syncctl` with JSON Web Tokens.
@Suite(.ring(.test), .timeLimit(.minutes(10))) struct WebTokenProgramTests {
    /// The public key of an issuer, whose private key was used once, for `token`.
    private static let keys =
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"ljLEIr8hmIh8kdEdQmdYVBmXJ7D5QME6rIRewz-rt_4","kid":"1"}]}"#
    /// A token of the account ned, from https://id.example for tombolo, until the year 9999.
    private static let token =
        "eyJhbGciOiJFZERTQSIsImtpZCI6IjEiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOiJ0b21ib2xvIiwic3ViIjoibmVkIiwiZXhwIjoyNTM0MDIzMDA3OTl9.ffV97Tb6iYHbAnnDFYMbUHVqEkny6K7ikFtu29W1AqUUmw22Fa4cQz2X_YYGrwKZbHB_Umz-jd8Q38yN7-duDg"

    private static func settings(_ keys: String) -> [String] {
        ["jwt.keys=\(keys)", "jwt.issuer=https://id.example", "jwt.audience=tombolo"].flatMap { ["--set", $0] }
    }

    /// Replaces a file atomically.
    private static func replace(_ path: String, _ text: String, mode: Int = 0o644) throws {
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func `a device syncs with a JSON Web Token until its key is taken out, and then with another token`() throws {
        let programs = try Programs()
        let keys = programs.folder + "/keys.json"
        let token = programs.folder + "/token"
        try Self.replace(keys, Self.keys)
        try Self.replace(token, Self.token + "\n", mode: 0o600)
        let settings = Self.settings(keys)
        // There is no token file yet.
        let (process, output, _) = try programs.start("syncd", ["--port", "0"] + settings)
        defer {
            process.terminate()
            process.waitUntilExit()
        }
        let line = try Programs.text(of: output, upTo: "\n")
        let url = try #require(line.split(whereSeparator: \.isWhitespace).last.map(String.init), "\(line)")
        let there = ["--server", url, "--token-file"]
        func sync(_ file: String) throws -> Int32 { try programs.run("syncctl", ["sync"] + there + [file]).status }

        #expect(try programs.syncctl("init").status == 0)
        #expect(try programs.syncctl("user", "create", "username=Ned").status == 0)
        #expect(try sync(token) == 0)
        try Self.replace(keys, "garbage")
        #expect(try sync(token) == 0)
        try Self.replace(keys, #"{"keys":[]}"#)
        #expect(try sync(token) == CommandExitStatus.refused.rawValue)

        let other = programs.folder + "/other"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", other]).status == 0)
        #expect(try sync(other) == 0)
        try Self.replace(keys, Self.keys)
        #expect(try sync(token) == 0)
        #expect(try programs.run("syncd", ["token", "remove", "ned"]).status == 0)
        #expect(try sync(token) == 0)
        #expect(try sync(other) == CommandExitStatus.refused.rawValue)
    }

    @Test(arguments: [
        ("garbage", "byte 0: expected JSON with unique keys"),
        (
            #"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#,
            "key 1: it has the member k, a secret; expected only public keys"
        ),
    ])
    func `a server with invalid keys for JSON Web Tokens does not start`(keys: String, problem: String) throws {
        let programs = try Programs()
        let path = programs.folder + "/keys.json"
        try Self.replace(path, keys)
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        let response = try programs.run("syncd", ["--port", "0"] + Self.settings(path))
        #expect(
            response.errors == """
                syncd: jwt.keys: \(path): \(problem)
                  expected a JSON Web Key Set with the public keys of jwt.issuer

                """)
        #expect(response.status == CommandExitStatus.configuration.rawValue)
    }
}
