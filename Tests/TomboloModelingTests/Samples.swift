import Foundation
import SyncModel
import TomboloModeling

enum Priority: String, ModelEnum, CaseIterable {
    case low, normal, high

    static let fallback = Priority.normal
}

struct Step: Codable, Equatable {
    var title: String
    var minutes: Double
}

struct Person: Model {
    static let collection = "person"

    let name = Field<String>("name", .required, .length(1...64))
}

struct Todo: Model {
    static let collection = "todo"

    let title = Field<String>("title", .required, .length(1...200), .indexed)
    let isDone = Field<Bool>("is_done", default: false)
    let priority = Field<Priority>("priority", default: .normal)
    let due = Field<Date?>("due", .indexed)
    let stars = Field<Int>("stars", .range(0...5))
    let effort = Field<Double?>("effort", .range(0...100), .merge(.serverWins))
    let token = Field<UUID?>("token")
    let steps = Field<JSON<[Step]>>("steps", default: JSON([]))
    let owner = Reference<Person>("owner", .indexed)
    let author = Reference<Person>("author", .required)
}

extension ModelShape where M == Todo {
    static func todo() throws -> ModelShape<Todo> { try ModelShape(Todo.self) }

    /// Returns a snapshot with the given values, and null in all other fields.
    func snapshot(_ patch: Patch) -> Snapshot<Todo> {
        Snapshot(
            id: RecordID(bits: Identifier128(high: 1, low: 2)), uid: 3,
            values: schema.fields.map { patch[$0.name] ?? .null }, shape: self)
    }
}
