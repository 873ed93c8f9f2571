import Foundation
import Testing

@testable import SyncBootstrap

@Suite struct TokenTests {
    private func read(_ text: String, permissions: Int = 0o600) throws -> Result<Token, ConfigurationProblem> {
        let path = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        return Result { () throws(ConfigurationProblem) in try Token(file: path) }
    }

    @Test func `the first line of the file is the token`() throws {
        #expect(try read("abc\nmore\n").get().secret == "abc")
        #expect(try read("abc\r\n").get().secret == "abc")
    }

    @Test(arguments: [0o644, 0o640, 0o604, 0o660])
    func `a file that others may read is refused`(permissions: Int) throws {
        guard case .failure(let problem) = try read("canary\n", permissions: permissions) else {
            Issue.record("permissions \(permissions) were accepted")
            return
        }
        #expect(problem.message.contains("expected 600"))
        #expect(problem.advice?.hasPrefix("chmod 600") == true)
        #expect(!problem.message.contains("canary"))
    }

    @Test(arguments: ["", "\n", "two words\n", "tab\tbed\n", "ünicode\n"])
    func `a file without a token is refused`(text: String) throws {
        #expect(throws: ConfigurationProblem.self) { try read(text).get() }
    }

    @Test func `a missing file is named`() {
        #expect(throws: ConfigurationProblem.self) { try Token(file: "/nonexistent/token") }
    }
}
