import Foundation
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
        registry = TokenRegistry(path: folder + "/tokens", random: { 7 })
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
        #expect(names == ["tokens", "tokens.lock"])
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

    @Test func `a second change takes the lock that the first one left`() throws {
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
        #expect(problem.message.contains("authority.token-file: \(folder)/tokens cannot be read"), "\(problem.message)")
        #expect(names == ["tokens", "tokens.lock"])
    }
}
