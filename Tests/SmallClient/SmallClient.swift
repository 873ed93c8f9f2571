import Tombolo

struct Todo: Model {
    static let collection = "todo"
    let title = Field<String>("title", .required)
}

/// The smallest client, for the test that looks at what a client links.
@main struct SmallClient {
    static func main() async throws {
        try await withClient("small-client", models: [Todo.self]) { client in
            try await client.create(Todo.self) { $0.title = "Milk" }
        }
    }
}
