import TomboloServer

// The server code of the guides. `GuideTests` checks that each line of a guide occurs in a file like this.

private struct Person: Model {
    static let collection = "person"
    let name = Field<String>("name", .required)
}

private struct Todo: Model {
    static let collection = "todo"
    let title = Field<String>("title", .required)
    let author = Field<String?>("author")
    let owner = Reference<Person>("owner")
}

private struct Order: Model {
    static let collection = "order"
    let step = Field<Int>("step", .range(0...3), default: 0)
}

private struct Purse: Model {
    static let collection = "purse"
    let amount = Field<Int>("amount", .range(0...1_000_000), default: 0)
}

struct ShopServer {
    func rules(_ server: inout ServerApplication) {
        server.validate(Order.self) { write in
            guard let before = write.before, let after = write.proposed else { return }
            guard after.step == before.step || after.step == before.step + 1 else {
                throw ServerRejection(code: "step", message: "an order takes one step at a time", fields: ["step"])
            }
        }
        server.validate { transaction in
            let growth = try transaction.writes(of: Purse.self).reduce(0) { sum, write in
                sum + (write.proposed?.amount ?? 0) - (write.before?.amount ?? 0)
            }
            guard growth == 0 else {
                throw ServerRejection(code: "unbalanced", message: "the purses would gain \(growth)")
            }
        }
    }
}

struct TodoServer {
    static func main() async {
        await SyncServerProgram.main(models: [Todo.self, Person.self])
    }
}

struct TestedTodoServer {
    func todoRules(_ server: inout ServerApplication) {}

    func main() async {
        await SyncServerProgram.main(models: [Todo.self, Person.self], todoRules)
    }
}

struct StrictTodoServer {
    let accounts: any Accounts
    let teams: any Teams

    func main() async {
        await SyncServerProgram.main(models: [Todo.self, Person.self]) { server in
            server.authenticate { request in try await accounts.principal(bearing: request.bearerToken) }
            server.authorize(Todo.self) { write in
                let authors = [write.record?.author, write.proposed?.author].compactMap { $0 }
                return authors.allSatisfy { $0 == write.principal.name }
            }
            server.validate(Todo.self) { write in
                guard write.proposed?.title != "spam" else {
                    throw ServerRejection(code: "spam", message: "'spam' is not a title", fields: ["title"])
                }
            }
            server.validate { transaction, principal in
                guard transaction.mutations.count <= 100 else {
                    throw ServerRejection(code: "too_many", message: "at most 100 changes at once")
                }
            }
            server.authorizeSpaces { principal, space, access in
                teams.members(of: space).contains(principal.name) && (access == .read || !teams.isArchived(space))
            }
        }
    }
}

protocol Accounts: Sendable {
    func principal(bearing token: String) async throws -> Principal?
}

protocol Teams: Sendable {
    func members(of space: SpaceID) -> Set<String>
    func isArchived(_ space: SpaceID) -> Bool
}
