import Logging
import SyncModel

extension SyncEngine {
    /// Starts a request in its own task, which posts its result to the mailbox.
    func begin(_ request: EngineRequest, as serial: Serial) {
        switch request {
        case .hello: execute(commands.hello(), as: serial) { .helloEnded(serial, $0) }
        case .push(let request): execute(commands.push(request), as: serial) { .pushEnded(serial, $0) }
        case .pull(let request):
            execute(commands.pull(request), as: serial) { .pullEnded(serial, request.space, $0) }
        case .hints(let spaces): listen(for: spaces, as: serial)
        }
    }

    private func execute<Response>(
        _ command: ServerCommand<Response>, as serial: Serial,
        _ event: @escaping @Sendable (Result<Response, TransportError>) -> ServerEvent
    ) {
        let mailbox = mailbox
        tasks[serial] = runtime.spawn {
            let result: Result<Response, TransportError>
            do throws(TransportError) {
                result = .success(try await command.execute())
            } catch {
                result = .failure(error)
            }
            mailbox.post(.server(event(result)))
        }
    }

    private func listen(for spaces: [SpaceID], as serial: Serial) {
        let mailbox = mailbox
        let commands = commands
        let logger = logger
        tasks[serial] = runtime.spawn {
            let wanted = Set(spaces)
            do {
                for try await hint in commands.hints(for: spaces) where wanted.contains(hint.space) {
                    mailbox.post(.server(.hint(serial, hint)))
                }
                mailbox.post(.server(.hintsEnded(serial)))
            } catch {
                let pause = (error as? TransportError)?.retryAfter
                if !Task.isCancelled {
                    logger.debug("The stream of hints has ended.", metadata: ["reason": "\(error)"])
                }
                mailbox.post(.server(.hintsEnded(serial, retryAfter: pause)))
            }
        }
    }
}
