import TestRings
import Testing

@testable import AuthorityStorePostgres

@Suite(.ring(.unit)) struct PostgresConfigurationTests {
    private func options(of connection: String) -> String? {
        let parameters = PostgresConfiguration(connection: connection, schema: "notes").parameters
        return parameters.last { $0.keyword == "options" }?.value
    }

    @Test(arguments: ["host=/run/db options='-c work_mem=8MB'", "postgresql://host/db?options=-c%20work_mem%3D8MB"])
    func `the operator's options stay, before those of the store`(connection: String) {
        #expect(options(of: connection)?.hasPrefix("-c work_mem=8MB -c search_path=notes ") == true)
    }

    @Test(arguments: ["host=/run/db", "host"])
    func `a connection string without options, or one that is invalid, adds none`(connection: String) {
        #expect(options(of: connection)?.hasPrefix("-c search_path=notes ") == true)
    }
}
