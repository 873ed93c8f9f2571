import SyncModel

extension SyncEngine {
    /// Starts a request in a task of its own, which ends by putting its result into the mailbox.
    func begin(_ action: SyncAction) {
        let mailbox = mailbox
        let transport = transport
        switch action {
        case .greet(let serial):
            tasks[serial] = runtime.spawn {
                let result: Result<ServerHello, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.hello())
                } catch {
                    result = .failure(error)
                }
                mailbox.yield(.greeted(serial, result))
            }
        case .push(let serial, let request):
            tasks[serial] = runtime.spawn {
                let result: Result<PushReply, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.push(request))
                } catch {
                    result = .failure(error)
                }
                mailbox.yield(.pushEnded(serial, result))
            }
        case .pull(let serial, let request):
            tasks[serial] = runtime.spawn {
                let result: Result<PullReply, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.pull(request))
                } catch {
                    result = .failure(error)
                }
                mailbox.yield(.pullEnded(serial, request.space, result))
            }
        case .openHints(let serial, let spaces):
            tasks[serial] = runtime.spawn {
                do {
                    for try await hint in transport.hints(for: spaces) { mailbox.yield(.hint(serial, hint)) }
                    mailbox.yield(.hintsEnded(serial, "the server closed the stream"))
                } catch {
                    mailbox.yield(.hintsEnded(serial, "\(error)"))
                }
            }
        case .closeHints, .abandon, .countOutbox, .takeBatch, .record, .withdraw, .apply, .resetCursor, .vacate, .adopt,
            .renewIdentity, .note, .checkpoint, .arm, .disarm, .finish:
            preconditionFailure("\(action) is not a request")
        }
    }
}
