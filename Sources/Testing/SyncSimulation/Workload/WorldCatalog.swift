public import SyncModel

/// The models of the simulated world, with every type of field, merge rule, and delete rule, and with required,
/// optional, and circular references.
public enum WorldCatalog {
    public static let catalog = SchemaCatalog([
        ModelSchema(collection: "customer", fields: earlierFields + laterFields),
        ModelSchema(
            collection: "berth", fields: earlierBerthFields + [.text("label", bytes: 1...200)], deleteRule: .editWins),
        ModelSchema(
            collection: "picture",
            fields: [
                .text("title", required: true, bytes: 1...200),
                .reference("painter", to: "customer", required: true),
                .json("tags"),
            ]),
    ])

    /// The models of the earlier build, without the last collection and the last fields of the others.
    static let earlierCatalog = SchemaCatalog([
        ModelSchema(collection: "customer", fields: earlierFields),
        ModelSchema(collection: "berth", fields: earlierBerthFields, deleteRule: .editWins),
    ])

    private static let earlierFields: [FieldSchema] = [
        .text("name", required: true, bytes: 1...200),
        .integer("boats"),
        .text("note", merge: .serverWins),
        .real("height", merge: .clientWins),
        .reference("neighbour", to: "customer"),
    ]

    private static let earlierBerthFields: [FieldSchema] = [
        .reference("keeper", to: "customer", required: true),
        .text("memo", bytes: 1...200),
    ]

    private static let laterFields: [FieldSchema] = [
        .boolean("ashore"),
        .reference("picture", to: "picture"),
        .text("motto", bytes: 1...200),
    ]
}

/// A build of the application or of the server, which determines the models that it knows.
public enum WorldBuild: Int, Hashable, Comparable, Sendable {
    case earlier
    case current

    public static func < (left: WorldBuild, right: WorldBuild) -> Bool { left.rawValue < right.rawValue }

    public var catalog: SchemaCatalog {
        switch self {
        case .earlier: WorldCatalog.earlierCatalog
        case .current: WorldCatalog.catalog
        }
    }
}
