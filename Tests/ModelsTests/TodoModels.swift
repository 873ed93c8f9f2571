import Foundation
import SyncObjects
import SyncTestKit
import TomboloModeling

/// An application's own models, for tests of the public API.
struct Todo: Model {
    static let collection = "todo"

    let title = Field<String>("title", .required, .length(1...200), .indexed)
    let isDone = Field<Bool>("is_done", default: false)
    let priority = Field<Priority>("priority", default: .normal)
    let due = Field<Date?>("due", .indexed)
    let effort = Field<Double?>("effort", .range(0...100))
    let tags = Field<JSON<[String]>>("tags", default: JSON([]))
    let owner = Reference<Person>("owner", .indexed)

    var computed: Field<String> { Field("computed") }
}

struct Person: Model {
    static let collection = "person"

    let name = Field<String>("name", .required, .length(1...64), .rule(.name))
    let favorite = Reference<Todo>("favorite")
}

enum Priority: String, ModelEnum {
    case low, normal, high

    static let fallback = Priority.normal
}

struct Stranger: Model {
    static let collection = "stranger"
}

extension LiveObjects {
    /// Live objects of the models above, over a mock source.
    static func todos() throws -> LiveObjects {
        let models = try ModelCatalog([Todo.self, Person.self])
        return LiveObjects(source: MockSource(catalog: models.schemas), models: models, runtime: .mock())
    }
}
