public import SyncModel

/// The schema of profiles, as the engine, the stores, and the authority know it.
public enum ProfileSchema {
    public static let schema = ModelSchema(
        collection: "profile",
        fields: [
            .reference("user", to: "user", required: true),
            .text("full_name", bytes: CommunityLimits.fullNameBytes, rule: .name),
            .json("address", bytes: CommunityLimits.addressBytes, rule: .address),
        ])

    static let user = schema.handle("user")
    static let fullName = schema.handle("full_name")
    static let address = schema.handle("address")

    static let kind = ModelKind(schema)
}
