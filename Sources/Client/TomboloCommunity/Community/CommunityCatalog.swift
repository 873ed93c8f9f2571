public import SyncModel
public import TomboloModeling

/// The models of the community.
public enum CommunityCatalog {
    /// The models, for the list that a client or server is opened with.
    public static let models: [any Model.Type] = [UserModel.self, AvatarModel.self, ProfileModel.self]

    /// The registered models.
    public static let registered: ModelCatalog = {
        do { return try ModelCatalog(models) } catch { preconditionFailure("the community's own models: \(error)") }
    }()

    /// All collections of the community.
    public static var catalog: SchemaCatalog { registered.schemas }

    static func schema<M: Model>(of type: M.Type) -> ModelSchema {
        do { return try registered.shape(of: type).schema } catch {
            preconditionFailure("the community's own models: \(error)")
        }
    }
}
