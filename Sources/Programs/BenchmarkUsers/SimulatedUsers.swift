package import SyncModel

/// The records of the benchmarks, with the same columns and lengths as those of the C program.
package enum SimulatedUsers {
    package static let schema = ModelSchema(
        collection: "user",
        fields: [
            .text("username", required: true), .text("display_name"), .text("bio"), .integer("avatar_uid"),
            .integer("updated_at"),
        ])
    package static let catalog = SchemaCatalog([schema])
    /// The same, with an index on `avatar_uid`.
    package static let indexedSchema = ModelSchema(
        collection: "user",
        fields: schema.fields.map { $0.name == "avatar_uid" ? $0.indexed() : $0 })
    package static let indexedCatalog = SchemaCatalog([indexedSchema])
    package static let bio = "likes long walks on the sandbar when the tide is out"

    /// SplitMix64 (Steele, Lea, Flood 2014), as in the C program.
    package static func mix(_ value: UInt64) -> UInt64 {
        var x = value &+ 0x9E37_79B9_7F4A_7C15
        x = (x ^ (x >> 30)) &* 0xBF58_476D_1CE4_E5B9
        x = (x ^ (x >> 27)) &* 0x94D0_49BB_1331_11EB
        return x ^ (x >> 31)
    }

    package static func id(_ uid: Int64) -> RecordID {
        let milliseconds = UInt64(1_700_000_000_000 + uid / 8)
        return RecordID(
            bits: Identifier128(high: milliseconds << 16 | 0x7000, low: 0x8000_0000_0000_0000 | UInt64(uid)))
    }

    package static func patch(_ uid: Int64) -> Patch {
        let salt = mix(UInt64(uid))
        let hex = String(salt & 0xFFFFFF, radix: 16)
        return [
            "avatar_uid": .integer(Int64(salt % 100_000)), "bio": .text(bio),
            "display_name": .text("SimulatedUser " + String(repeating: "0", count: 6 - hex.count) + hex),
            "updated_at": .integer(1_700_000_000_000 + uid), "username": .text("user\(uid)"),
        ]
    }

    package static func record(_ uid: Int64, version: Version) -> Record {
        Record(id: id(uid), uid: UID(uid), version: version, creating: patch(uid), schema: schema)
    }
}
