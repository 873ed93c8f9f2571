public import SyncModel

/// The models of the simulated world: every kind of field and of merge, references that are required and ones that
/// are not, and circles of them.
public enum WorldCatalog {
    public static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "islander",
            fields: [
                .text("name", required: true, bytes: 1...200),
                .integer("boats"),
                .text("note", merge: .serverWins),
                .real("height", merge: .clientWins),
                .boolean("ashore"),
                .reference("neighbour", to: "islander"),
                .reference("picture", to: "picture"),
            ]),
        ModelSchema(
            collection: "picture",
            fields: [
                .text("title", required: true, bytes: 1...200),
                .reference("painter", to: "islander", required: true),
                .json("tags"),
            ]),
    ])
}
