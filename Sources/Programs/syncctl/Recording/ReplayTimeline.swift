import SyncCore
import SyncModel
import SyncProgram
import SyncRecording

/// Prints a replay line by line, for people or for scripts.
struct ReplayTimeline {
    let terminal: Terminal

    func show(_ step: Replay.Step, since began: Duration, _ difference: Replay.Difference?) {
        switch step {
        case .start(let start): show(start, difference)
        case .turn(let number, let turn, let actions, let status):
            if terminal.isJSON {
                var line = JSONLine()
                line.set("turn", number)
                line.set("at", Self.seconds(turn.at - began))
                line.set("event", turn.replayText)
                line.set("actions", actions)
                line.set("state", status.replayText)
                line.set("difference", difference?.description)
                terminal.say(line)
                return
            }
            let time = Self.seconds(turn.at - began)
            let margin = String(repeating: " ", count: max(0, 10 - time.count))
            terminal.say("\(margin)\(time)  \(turn.replayText)")
            for action in actions { terminal.say("\(Self.indent)-> \(action)") }
            terminal.say(terminal.dim("\(Self.indent)=  \(status.replayText)"))
            mark(difference)
        }
    }

    private func show(_ start: RecordedStart, _ difference: Replay.Difference?) {
        if terminal.isJSON {
            var line = JSONLine()
            line.set("start", TimeText.text(start.wall))
            line.set("continues", start.continues)
            line.set("difference", difference?.description)
            terminal.say(line)
            return
        }
        if !start.continues { terminal.say(terminal.bold("started at \(TimeText.text(start.wall))")) }
        mark(difference)
    }

    private func mark(_ difference: Replay.Difference?) {
        guard let difference else { return }
        terminal.say(terminal.red("\(Self.indent)!! \(difference)"))
    }

    func end(turns: Int, _ difference: Replay.Difference?) {
        if terminal.isJSON {
            var line = JSONLine()
            line.set("events", turns)
            line.set("same", difference == nil)
            line.set("difference", difference?.description)
            terminal.say(line)
        } else if let difference {
            terminal.say(terminal.red("replayed \(turns) events: \(difference)"))
        } else {
            terminal.say(terminal.green("replayed \(turns) events: same actions as recorded"))
        }
    }

    /// Returns the duration in seconds, to the millisecond.
    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        let fraction = String(milliseconds.magnitude % 1_000)
        return (milliseconds < 0 ? "-" : "") + "\(milliseconds.magnitude / 1_000)."
            + String(repeating: "0", count: 3 - fraction.count) + fraction
    }

    private static let indent = String(repeating: " ", count: 12)
}
