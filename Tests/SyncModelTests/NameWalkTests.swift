import SyncModel
import Testing

/// A walk finds the same positions as a lookup of each name, whatever names are missing or unknown.
@Suite struct NameWalkTests {
    @Test func `a walk finds what lookups find`() {
        let schema = ModelSchema(
            collection: "user", fields: [.text("name"), .integer("age"), .text("nick_name"), .text("bio"), .real("z")])
        let names: [FieldName] = ["age", "aged", "bio", "color", "name", "nick", "nick_name", "z", "zz"]
        for chosen in 0..<(1 << names.count) {
            let subset = names.indices.filter { chosen & 1 << $0 != 0 }.map { names[$0] }
            var walk = schema.walkByName()
            #expect(subset.map { walk.position(of: $0) } == subset.map { schema.position(of: $0) }, "\(subset)")
        }
    }
}
