import ConfigurationChecks
import Foundation
import Logging
import SyncAuthority
import SyncCore
import SyncModel
import SyncRuntimeLive
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

    @Test func `every server setting is listed once, is documented, and accepts its own default`() {
        checkSettings(ServerKeys.settings)
    }

    @Test func `the stored schema of a server's configuration is up to date`() throws {
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

    @Test func `JSON Web Tokens are accepted only if their keys, issuer, and audience are configured`() throws {
        #expect(try settings([]).webTokens == nil)
        let tokens = try #require(
            try settings(["jwt.keys=~/keys", "jwt.issuer=https://id.example", "jwt.audience=tombolo"]).webTokens)
        #expect(
            tokens.keys == "/home/ned/keys" && tokens.issuer == "https://id.example" && tokens.audience == "tombolo")
        #expect(tokens.clockSkew == .seconds(60))
    }

    /// The keys would have no effect, and their owner would believe that they had.
    @Test func `keys for JSON Web Tokens beside a program's own rule for tokens stop the start`() throws {
        var application = ServerApplication(catalog: SchemaCatalog([]))
        application.authenticate { _ in nil }
        let settings = try settings(["jwt.keys=/k", "jwt.issuer=a", "jwt.audience=b"])
        let problem = #expect(throws: ConfigurationError.self) {
            try ServerRecipes.live.authentication(settings, application, .live(label: "test"), Logger(label: "test"))
        }
        #expect(problem?.message.hasPrefix("jwt.keys: ") == true, "\(problem?.message ?? "")")
    }

    @Test func `a password in the connection string of PostgreSQL is not shown`() throws {
        func shown(_ connection: String) throws -> String? {
            let sources = ConfigurationSources(
                ProgramNames("syncd"), variables: ["HOME": "/home/ned", "SYNCD_AUTHORITY_POSTGRES": connection],
                file: nil)
            return try ResolvedConfiguration<ServerKeys>(sources).entries.first { $0.name == "authority.postgres" }?
                .shownText
        }
        #expect(try shown("host=db user=ned") == "host=db user=ned")
        for keyword in ["password", "sslpassword"] {
            let text = try #require(try shown("host=db user=ned \(keyword)=canary"))
            #expect(text.contains("host=db") && text.contains("\(keyword)=********"), "\(text)")
            #expect(!text.contains("canary"))
        }
        let problem = #expect(throws: ConfigurationError.self) { try shown("password=canary\u{1}") }
        #expect(problem?.message.contains("canary") == false, "\(problem?.message ?? "")")
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
        (["jwt.keys=/k"], "belong together"),
        (["jwt.keys=/k", "jwt.issuer=a"], "belong together"),
        (["jwt.issuer=a", "jwt.audience=b"], "belong together"),
        (["jwt.clock-skew=11m"], "jwt.clock-skew"),
        (["jwt.clock-skew=1m"], "jwt.clock-skew (--set) has no effect, because jwt.keys is not set"),
        (["metrics.host=127.0.0.1"], "has no effect, because metrics.port is not set"),
        (["authority.postgres-schema=tombolo"], "has no effect, because authority.postgres is not set"),
        (["server.url=https://a.example"], "there is no key server.url"),
        (["environment=test"], "authority.folder is not set"),
    ])
    func `settings that contradict each other stop the start`(flags: [String], words: String) {
        let problem = #expect(throws: ConfigurationError.self) { try self.settings(flags) }
        #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "")")
    }
}
