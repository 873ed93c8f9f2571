import CommonNames
import Testing
import TomboloServer

/// Tests that a server program can use common names for its own types, and for types of other libraries.
@Suite struct NameTests {
    /// If `TomboloServer` exports one of these names, the name is ambiguous, and this file does not compile.
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
