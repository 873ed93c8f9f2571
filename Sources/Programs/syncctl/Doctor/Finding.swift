import SyncProgram

/// One finding of `syncctl doctor`: a sentence, and what to do about it.
struct Finding: Hashable {
    enum Level: String {
        case fine = "ok"
        /// It was wrong, and `--fix` has repaired it.
        case fixed
        /// It works, but a person has to look at it.
        case attention
        /// It does not work until it is repaired.
        case broken
    }

    let check: String
    let level: Level
    let sentence: String
    var advice: String?

    static func fine(_ check: String, _ sentence: String) -> Finding {
        Finding(check: check, level: .fine, sentence: sentence)
    }

    static func attention(_ check: String, _ sentence: String, advice: String) -> Finding {
        Finding(check: check, level: .attention, sentence: sentence, advice: advice)
    }

    /// Returns a finding for the failure that a check found.
    static func broken(_ check: String, _ failure: CommandError) -> Finding {
        Finding(check: check, level: .broken, sentence: failure.message, advice: failure.advice)
    }

    var needsPerson: Bool {
        switch level {
        case .fine, .fixed: false
        case .attention, .broken: true
        }
    }

    func print(to terminal: Terminal) {
        let word: TerminalText =
            switch level {
            case .fine, .fixed: terminal.green("\(level.rawValue)")
            case .attention, .broken: terminal.red("\(level.rawValue)")
            }
        let padding = String(repeating: " ", count: 11 - level.rawValue.count)
        terminal.say("\(word)\(padding)\(check): \(sentence)")
        if let advice { terminal.say("\(String(repeating: " ", count: 11))\(advice)") }
    }

    var line: JSONLine {
        var line = JSONLine()
        line.set("check", check)
        line.set("state", level.rawValue)
        line.set("message", sentence)
        line.set("advice", advice)
        return line
    }
}
