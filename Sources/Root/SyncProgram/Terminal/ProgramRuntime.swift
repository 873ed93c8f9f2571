public import SyncCore
import SyncRuntimeLive

/// The machine's own time and chance, for programs that have no composition yet.
public enum ProgramRuntime {
    public static func live() -> EngineRuntime { .live(label: "tombolo.program") }
}
