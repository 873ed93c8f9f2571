import Foundation
import Logging
import SyncAuthority
import SyncConcurrency
import SyncServerHTTP
import TestRings
import Testing

@testable import SyncProgram
@testable import TomboloServer

@Suite struct TokenTests {
    private func read(_ text: String, permissions: Int = 0o600) throws -> Result<Token, ConfigurationError> {
        let path = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        return Result { () throws(ConfigurationError) in try Token(file: path) }
    }

    @Test func `the first line of the file is the token`() throws {
        #expect(try read("abc\nmore\n").get().secret == "abc")
        #expect(try read("abc\r\n").get().secret == "abc")
    }

    @Test(arguments: [0o644, 0o640, 0o604, 0o660])
    func `a token file that others can read is refused`(permissions: Int) throws {
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
        #expect(throws: ConfigurationError.self) { try read(text).get() }
    }

    @Test func `a path that is not a regular file is reported with its kind`() throws {
        let folder = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "elsewhere")
        #expect(mkfifo(folder + "/pipe", 0o600) == 0)
        let words = [
            "/missing": "does not exist", "/missing/token": "does not exist", "": "is a folder",
            "/link": "is a symbolic link", "/pipe": "is not a regular file",
        ]
        for (name, word) in words {
            let problem = try #require(throws: ConfigurationError.self) { try Token(file: folder + name) }
            #expect(
                problem.message.contains("\(folder)\(name)") && problem.message.contains(word), "\(problem.message)")
        }
    }
}

@Suite struct TokenRegistryTests {
    private let folder: String
    private let registry: TokenRegistry

    init() throws {
        folder = NSTemporaryDirectory() + "tombolo-tokens-\(UUID().uuidString)"
        let number = Guarded<UInt64>(0)
        registry = TokenRegistry(path: folder + "/tokens") {
            number.withLock { number in
                number += 1
                return number
            }
        }
    }

    private struct Refusal: Error {}

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()) ?? [] }

    private func owner(of name: String) throws -> (user: Int, group: Int)? {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
        guard let user = attributes[.ownerAccountID] as? Int, let group = attributes[.groupOwnerAccountID] as? Int
        else { return nil }
        return (user, group)
    }

    @Test func `a token that could not be delivered is not added`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(throws: Refusal.self) { try registry.add("laptop") { _ in throw Refusal() } }
        #expect(try registry.principals().isEmpty)
        try registry.add("laptop") { _ in }
        #expect(try registry.principals().map(\.name) == ["laptop"])
        #expect(throws: Refusal.self) { try registry.add("laptop") { _ in throw Refusal() } }
        #expect(try registry.principals().map(\.tokens) == [1])
        #expect(names == ["tokens", "tokens.lock"])
    }

    @Test func `no token is added if the program authenticates tokens by its own rule`() {
        let registry = TokenRegistry(path: folder + "/tokens", haveEffect: false) { 1 }
        let problems = [
            #expect(throws: ConfigurationError.self) { try registry.add("laptop") { _ in } },
            #expect(throws: ConfigurationError.self) { try registry.add("laptop", writingTo: folder + "/token") },
        ]
        #expect(problems.allSatisfy { $0?.message.contains("would have no effect") == true })
        #expect(names.isEmpty)
    }

    @Test func `a token is delivered only after it is stored, so that a server accepts it`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var wasDelivered = false
        try registry.add("laptop") { token in
            let logger = Logger(label: "tokens") { _ in SwiftLogNoOpLogHandler() }
            let file = try TokenFile(path: folder + "/tokens", logger: logger)
            #expect(file.principal(bearing: token.secret) == Principal(name: "laptop"))
            wasDelivered = true
        }
        #expect(wasDelivered)
    }

    @Test func `a token that is neither delivered nor taken back is reported with the way to revoke it`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let problem = #expect(throws: ConfigurationError.self) {
            try registry.add("laptop") { _ in
                chmod(folder, 0o777)
                throw Refusal()
            }
        }
        #expect(problem?.message.contains("others may write") == true, "\(problem?.message ?? "")")
        #expect(problem?.advice?.contains("token remove laptop") == true, "\(problem?.advice ?? "")")
    }

    /// A server keeps its earlier tokens when a changed file is invalid. Otherwise, an operator would believe that a
    /// removed token is revoked.
    @Test(arguments: [
        ("oops half a line", 0o600, "/tokens, line 2: expected a principal and the SHA-256 of its token"),
        (TokenFile.line(principal: "laptop", token: "1"), 0o600, "/tokens, line 2: this token occurs twice"),
        ("#", 0o640, "/tokens is open to others: expected mode 0600"),
    ])
    func `a file that a server does not accept is refused with the reason, and not changed`(
        line: String, mode: Int, words: String
    ) throws {
        try requireRefusal(of: line, mode: mode, words)
    }

    @Test func `a file that is longer than a server accepts is refused, and not changed`() throws {
        let line = "#" + String(repeating: "x", count: 4 * 1_024 * 1_024)
        try requireRefusal(of: line, mode: 0o600, "/tokens is longer than 4194304 bytes")
    }

    private func requireRefusal(of line: String, mode: Int, _ words: String) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try registry.add("laptop") { _ in }
        let text = "\(TokenFile.line(principal: "laptop", token: "1"))\n\(line)\n"
        try Data(text.utf8).write(to: URL(filePath: folder + "/tokens"))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder + "/tokens")
        let commands: [() throws -> Void] = [
            { _ = try registry.principals() }, { _ = try registry.remove("laptop") },
            { try registry.add("phone") { _ in Issue.record("the token was shown") } },
            { try registry.add("phone", writingTo: folder + "/phone.token") },
        ]
        for command in commands {
            let problem = #expect(throws: ConfigurationError.self) { try command() }
            #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "")")
        }
        #expect(try Data(contentsOf: URL(filePath: folder + "/tokens")) == Data(text.utf8))
        #expect(names == ["tokens", "tokens.lock"])
    }

    @Test(.ring(.check)) func `a token that would make the file too long is refused`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try registry.add("laptop") { _ in }
        let file = URL(filePath: folder + "/tokens")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rest = 4 * 1_024 * 1_024 - text.utf8.count
        let full = Data("\(text)#\(String(repeating: "x", count: rest - 2))\n".utf8)
        try full.write(to: file)
        let problem = #expect(throws: ConfigurationError.self) {
            try registry.add("phone") { _ in Issue.record("the token was shown") }
        }
        #expect(problem?.message.contains("nothing was changed, because") == true, "\(problem?.message ?? "")")
        #expect(try Data(contentsOf: file) == full)
    }

    @Test func `the file of a token that could not be stored is removed, and an existing one is kept`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/tokens", withIntermediateDirectories: true)
        #expect(throws: ConfigurationError.self) { try registry.add("laptop", writingTo: folder + "/laptop.token") }
        #expect(names == ["tokens", "tokens.lock"])
        try FileManager.default.removeItem(atPath: folder + "/tokens")
        try registry.add("laptop", writingTo: folder + "/laptop.token")
        let token = try String(contentsOfFile: folder + "/laptop.token", encoding: .utf8)
        #expect(throws: ConfigurationError.self) { try registry.add("laptop", writingTo: folder + "/laptop.token") }
        #expect(try String(contentsOfFile: folder + "/laptop.token", encoding: .utf8) == token)
        #expect(try registry.principals().map(\.tokens) == [1])
    }

    @Test func `no token is shown or written if others can write in its folder`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try registry.add("laptop") { _ in }
        chmod(folder, 0o777)
        let error = #expect(throws: ConfigurationError.self) {
            try registry.add("phone") { _ in Issue.record("the token was shown") }
        }
        #expect(error?.message.contains("others may write") == true, "\(error?.message ?? "")")
        #expect(try registry.principals().map(\.name) == ["laptop"])
    }

    @Test func `removing a token from a file with CR LF line endings keeps the other tokens`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["laptop", "phone"] { try registry.add(name) { _ in } }
        let file = URL(filePath: folder + "/tokens")
        let text = try String(decoding: Data(contentsOf: file), as: UTF8.self)
        try Data(text.replacing("\n", with: "\r\n").utf8).write(to: file)
        #expect(try registry.principals().map(\.name) == ["laptop", "phone"])
        _ = try registry.remove("laptop")
        #expect(try registry.principals().map(\.name) == ["phone"])
    }

    /// A server that runs as another user could not read a file that belongs to root.
    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"), arguments: [false, true])
    func `root leaves the file and its lock to their owner, or to the owner of the folder`(hasFile: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if hasFile {
            try registry.add("laptop") { _ in }
            try #require(chown(folder + "/tokens", 12_345, 12_346) == 0)
        } else {
            try #require(chown(folder, 12_345, 12_346) == 0)
        }
        try registry.add("phone") { _ in }
        for name in ["tokens", "tokens.lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
            let owner = try #require(try owner(of: name))
            #expect(owner == (12_345, 12_346), "\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `root does not give away a file that is linked to the name of the lock`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try registry.add("laptop") { _ in }
        try #require(chown(folder + "/tokens", 12_345, 12_346) == 0)
        try FileManager.default.removeItem(atPath: folder + "/tokens.lock")
        try Data().write(to: URL(filePath: folder + "/other"))
        try #require(link(folder + "/other", folder + "/tokens.lock") == 0)
        try registry.add("phone") { _ in }
        #expect(try owner(of: "other")?.user == 0)
    }

    @Test func `a second change can lock the file of the lock that the first one left`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try registry.add("laptop") { _ in }
        let (file, lock) = (try #require(try owner(of: "tokens")), try #require(try owner(of: "tokens.lock")))
        #expect(file == lock)
        #expect(try registry.remove("laptop") == 1)
    }

    @Test func `a failed change leaves no temporary file and reports the reason`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A folder in place of the file can be neither read nor replaced.
        try FileManager.default.createDirectory(atPath: folder + "/tokens", withIntermediateDirectories: true)
        let problem = try #require(throws: ConfigurationError.self) { try registry.add("laptop") { _ in } }
        #expect(
            problem.message.contains("authority.token-file: \(folder)/tokens is not a regular file"),
            "\(problem.message)")
        #expect(names == ["tokens", "tokens.lock"])
    }
}
