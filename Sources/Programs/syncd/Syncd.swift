import SyncModel
import TomboloCommunity
import TomboloServer

/// The stock server: of the community's models, or of those of a file.
@main struct Syncd {
    static func main() async {
        await SyncServerProgram.main(models: CommunityCatalog.catalog, rule: FieldRule.named)
    }
}
