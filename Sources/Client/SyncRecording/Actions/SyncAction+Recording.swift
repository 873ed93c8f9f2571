package import SyncCore
import SyncModel

// Actions are recorded as text. The actions for the server and those for the store each have a file, which writes and
// redacts them.

extension SyncAction {
    /// The text of a redacted action. Equal actions have equal texts, and the text contains everything in the action.
    package var recordedText: String {
        switch self {
        case .server(let action): action.recordedText
        case .store(let action): action.recordedText
        case .timer(.arm(let serial, let delay)): "arm \(serial) for \(SecondsText.text(delay)) s"
        case .timer(.disarm(let serial)): "disarm \(serial)"
        case .note(.inSync): "note that all is in sync"
        case .note(.confirmedInSync): "note that all is in sync, as requested"
        case .note(.inSyncButHeld): "note that all is in sync but what is held back"
        case .note(.failed(let code, _)): "note a failure: \(code)"
        case .note(.paused(let duration, _)): "note a pause of \(SecondsText.text(duration)) s"
        case .checkpoint: "checkpoint"
        case .finish: "finish"
        }
    }
}

extension Redaction {
    package func action(_ action: SyncAction) -> SyncAction {
        switch action {
        case .server(let action): .server(self.action(action))
        case .store(let action): .store(self.action(action))
        case .note(.failed(let code, _)): .note(.failed(code: code, message: ""))
        case .note(.inSync), .note(.confirmedInSync), .note(.inSyncButHeld), .note(.paused), .timer, .checkpoint,
            .finish:
            action
        }
    }
}
