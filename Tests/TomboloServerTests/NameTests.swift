import CommonNames
import Testing
import TomboloServer

/// A server program may use common names for its own types, and those of other libraries.
@Suite struct NameTests {
    /// This does not compile if `TomboloServer` exports one of the names, because it would then be ambiguous.
    private static let names: [Any.Type] = [
        Account.self, Change.self, Configuration.self, Cursor.self, Environment.self, Epoch.self, Mutation.self,
        Outcome.self,
        Patch.self, Program.self, Record.self, Rejection.self, Setting.self, Stamp.self, Token.self, Transaction.self,
        Version.self,
    ]

    @Test func `importing the server exports no common name`() {
        #expect(Self.names.allSatisfy { "\($0)" == String(reflecting: $0).dropFirst("CommonNames.".count) })
    }
}
