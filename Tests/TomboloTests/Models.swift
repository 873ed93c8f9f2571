import Foundation
import Tombolo

/// Models of an application, in a file that imports no module of this package but the product.
struct Todo: Model {
    static let collection = "todo"

    let title = Field<String>("title", .required, .length(1...200), .indexed)
    let isDone = Field<Bool>("is_done", default: false)
    let due = Field<Date?>("due", .indexed)
    let owner = Reference<Person>("owner")
}

struct Person: Model {
    static let collection = "person"

    let name = Field<String>("name", .required)
}

/// A temporary home folder for one test, and options with which a client reads no other folder or variable.
final class Home {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tombolo-tests-\(UUID())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = folder.path(percentEncoded: false)
    }

    var options: ClientOptions {
        var options = ClientOptions()
        options.variables = ["HOME": path, "TODO_LOG_LEVEL": "critical", "TODO_ENVIRONMENT": "development"]
        return options
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
