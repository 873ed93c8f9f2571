import SyncModel
import TomboloCommunity

/// A collection that has its own command, such as `syncctl user`.
protocol RecordKind: SendableMetatype {
    static var schema: ModelSchema { get }
    /// The arguments of the example in the help text.
    static var example: String { get }
}

extension RecordKind {
    /// The name of the command, such as `user`.
    static var word: String { schema.collection.rawValue }

    /// The name with its indefinite article, such as `a user` or `an avatar`.
    static var aWord: String { word.withArticle }
}

extension String {
    /// The word with its indefinite article, chosen by its first letter. `u` counts as a consonant, as in `user`.
    var withArticle: String { "\("aeio".contains(prefix(1)) ? "an" : "a") \(self)" }
}

enum UserKind: RecordKind {
    static var schema: ModelSchema { UserSchema.schema }
    static var example: String { "username='Ned Stark'" }
}

enum AvatarKind: RecordKind {
    static var schema: ModelSchema { AvatarSchema.schema }
    static var example: String { "author='Ned Stark' image_url=https://example.org/ned.png" }
}

enum ProfileKind: RecordKind {
    static var schema: ModelSchema { ProfileSchema.schema }
    static var example: String { "user='Ned Stark' full_name='Eddard Stark'" }
}

/// The name fields of the community's collections.
enum RecordNames {
    /// The field by which people name a record, for each collection that has one.
    static let fields: [CollectionName: FieldName] = [UserSchema.schema.collection: "username"]

    /// Returns the field by which people name a record; nil if the collection has none.
    static func nameField(of collection: CollectionName) -> FieldName? { fields[collection] }
}
