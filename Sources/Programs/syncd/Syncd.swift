import SyncModel
import TomboloCommunity
import TomboloServer

/// The stock server. It serves the community's models, or the models in the file that `--catalog` names.
@main struct Syncd {
    static func main() async {
        await SyncServerProgram.main(models: CommunityCatalog.catalog, rule: FieldRule.named)
    }
}
