import ConfigurationChecks
import Foundation
import SyncAuthority
import SyncModel
import Testing

@testable import SyncProgram
@testable import TomboloServer

@Suite struct ServerConfigurationTests {
    private func settings(_ flags: [String]) throws(ConfigurationError) -> ServerSettings {
        let sources = ConfigurationSources(
            ProgramNames("syncd"), flags: try ConfigurationFlags(settings: flags), variables: ["HOME": "/home/ned"],
            file: nil)
        return try ServerSettings(ResolvedConfiguration(sources))
    }

    @Test func `every server setting is listed once, is documented, and takes its own default`() {
        checkSettings(ServerKeys.settings)
    }

    @Test func `the schema of a server's configuration is the one beside the sources`() throws {
        try checkSchema(ServerKeys.settings, "server", of: "syncd")
    }

    @Test func `a server flushes each commit, and keeps its tokens beside its database, unless told otherwise`() throws
    {
        let settings = try settings([])
        #expect(settings.durability == .full)
        #expect(settings.keptCommits == AuthorityLimits.keptCommits)
        #expect(settings.tokenFile == "/home/ned/.local/share/syncd/tokens")
        #expect(try self.settings(["authority.token-file=~/t"]).tokenFile == "/home/ned/t")
    }

    @Test(arguments: [false, true])
    func `only a cause in the machine or in another process may pass without a change`(isPostgres: Bool) {
        let passing = AuthorityStoreError.Code.allCases.filter { code in
            ConfigurationError(AuthorityStoreError(code, "words"), isPostgres: isPostgres).mayPass
        }
        #expect(Set(passing) == [.inUse, .diskFull, .readOnly, .busy, .inputOutput, .unreachable])
        #expect(!ConfigurationError("words").mayPass)
    }

    @Test(arguments: [
        (["listen.host=0.0.0.0"], "requires TLS there"),
        (["listen.key-file=/k"], "belong together"),
        (["server.url=https://a.example"], "there is no key server.url"),
        (["environment=test"], "authority.folder is not set"),
    ])
    func `settings that contradict each other stop the start`(flags: [String], words: String) {
        let problem = #expect(throws: ConfigurationError.self) { try self.settings(flags) }
        #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "")")
    }
}
