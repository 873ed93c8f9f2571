import Models
import SyncModel

/// A collection as the command line speaks of it.
protocol RecordKind: SendableMetatype {
    static var schema: ModelSchema { get }
    /// Fields of the example in the help.
    static var example: String { get }
}

extension RecordKind {
    /// The name of the command: `user`.
    static var word: String { schema.collection.rawValue }

    /// The word after its article: `a user`, `an avatar`.
    static var aWord: String { word.withArticle }
}

extension String {
    /// The word after its article, by its first letter; `u` counts as a consonant, as in `user`.
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

/// The names for the records of this application.
enum RecordNames {
    /// The fields by which a person names a record, of the collections that have one.
    static let fields: [CollectionName: FieldName] = [UserSchema.schema.collection: "username"]

    /// The field by which a person names a record, where there is one.
    static func nameField(of collection: CollectionName) -> FieldName? { fields[collection] }
}
