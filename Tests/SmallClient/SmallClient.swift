import Tombolo

struct Todo: Model {
    static let collection = "todo"
    let title = Field<String>("title", .required)
}

/// The smallest client. A test checks which modules it links, and `tools/bench size` measures it.
@main struct SmallClient {
    static func main() async throws {
        try await withClient("small-client", models: [Todo.self]) { client in
            try await client.create(Todo.self) { $0.title = "Milk" }
        }
    }
}
