import Logging
import SyncModel
import SyncServerRules

@testable import SyncProgram
@testable import TomboloServer

extension ServerComposition {
    /// A server of notes that keeps its data in a folder, with the real parts.
    static func forNotes(in folder: String, _ settings: [String] = []) throws -> ServerComposition {
        let sources = ConfigurationSources(
            ProgramNames("syncd"), flags: try ConfigurationFlags(settings: ["authority.folder=\(folder)"] + settings),
            variables: ["HOME": "/nonexistent"], file: nil)
        return ServerComposition(
            settings: try ServerSettings(ResolvedConfiguration(sources)),
            application: ServerApplication(
                catalog: SchemaCatalog([ModelSchema(collection: "note", fields: [.text("text")])])),
            recipes: .live, logger: Logger(label: "test"))
    }
}
