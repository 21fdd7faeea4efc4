"""A phone assistant: hears what a caller says, thinks of an answer and speaks it, turn by turn.

    pip install openai
    export OPENAI_BASE_URL=http://127.0.0.1:8080/api/v1 OPENAI_API_KEY=pk_...
    python3 assistant.py turn-1.wav turn-2.wav

Each recording is a turn of the same call. Its answer is written beside it, as turn-1.answer.wav.
"""

import os
import sys
from pathlib import Path

from openai import APIError, OpenAI

HEARS = os.environ.get("HEARS", "pocketsphinx")
THINKS = os.environ.get("THINKS", "eliza")
SPEAKS = os.environ.get("SPEAKS", "flite")
VOICE = os.environ.get("VOICE", "slt")
INSTRUCTIONS = "You answer the phone. Reply in one or two short sentences, without lists or symbols."


class Call:
    """A call: its turns so far, which the model gets again at each turn."""

    def __init__(self, client: OpenAI):
        self.client = client
        self.messages = [{"role": "system", "content": INSTRUCTIONS}]

    def turn(self, recording: Path, answer: Path) -> tuple[str, str]:
        with recording.open("rb") as file:
            heard = self.client.audio.transcriptions.create(model=HEARS, file=file).text
        if not heard.strip():
            said = "Sorry, I did not hear you."
        else:
            self.messages.append({"role": "user", "content": heard})
            chat = self.client.chat.completions.create(model=THINKS, messages=self.messages)
            said = chat.choices[0].message.content or "One moment, please."
            self.messages.append({"role": "assistant", "content": said})
        # The start of the answer is in the file while its end is still being spoken.
        speech = self.client.audio.speech.with_streaming_response
        with speech.create(model=SPEAKS, voice=VOICE, input=said, response_format="wav") as audio:
            audio.stream_to_file(answer)
        return heard, said


def main() -> None:
    recordings = [Path(name) for name in sys.argv[1:]]
    if not recordings:
        sys.exit(__doc__)
    call = Call(OpenAI())
    for recording in recordings:
        try:
            heard, said = call.turn(recording, recording.with_suffix(".answer.wav"))
        except APIError as error:
            sys.exit(f"{recording}: {error.message}")
        print(f"caller: {heard}\nassistant: {said}")


main()
