"""How infills are spelt and spaced in other languages: whole sentences, `[[` and `]]` around the words of the span."""

from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from core.test_surface import applied, parse
from masker.core.candidates import spelt, write
from masker.core.spacing import usual_gaps
from masker.core.surface import replacement
from masker.core.vocabulary import Vocabulary

N, B = "\u202f", "\u00a0"  # the narrow no-break space before French marks, and the wider one inside their quotes
FRENCH = {"!": N, "?": N, ":": B, ";": N, "«": B, "»": B}


def written(marked: str, infill: str, **options: Any) -> str:
    text, span = parse(marked.replace("⍽", N).replace("␣", B))
    options = {"cased": True, **options}
    found = applied(text.source, replacement(text, span, infill, fixed=[False] * len(text.words), **options))
    return found.replace(N, "⍽").replace(B, "␣")


SENTENCES = [
    # -- French
    ("Vous venez⍽? Oui, je [[viens]].", "viens ! Et toi", "Vous venez⍽? Oui, je viens⍽! Et toi."),
    ("C'est bien[[]]⍽!", "fait", "C'est bien fait⍽!"),
    ("C'est [[bien]]⍽!", "", "C'est⍽!"),
    ("C'est bien⍽[[!]] Merci.", "", "C'est bien merci."),
    ("C'est bien⍽[[!]] Merci.", ",", "C'est bien, merci."),
    ("C'est bien[[.]] Non⍽!", "!", "C'est bien⍽! Non⍽!"),
    ("Il dit «␣[[bonjour]]␣» à tous.", "bonjour , mes amis", "Il dit «␣bonjour, mes amis␣» à tous."),
    ("Il dit «␣[[]]bonjour␣».", "eh bien", "Il dit «␣eh bien bonjour␣»."),
    ("Ça va ? Oui, merci. C'est [[bon]].", "bon : oui", "Ça va ? Oui, merci. C'est bon : oui."),
    ("C'est [[votre]] faute.", "qu ' il a", "C'est qu'il a faute."),
    ("Il part [[ce soir]].", "aujourd ' hui", "Il part aujourd'hui."),
    ("[[Vous]] êtes là.", "l ' élève et vous", "L'élève et vous êtes là."),
    # -- German
    ("Er sagte „[[Gut]]“ und ging.", "Sehr gut", "Er sagte „Sehr gut“ und ging."),
    ("Er sagte „Gut“ [[und]] ging.", "doch , und", "Er sagte „Gut“ doch, und ging."),
    ("Er sagte „Gut“[[]] und ging.", "leise", "Er sagte „Gut“ leise und ging."),
    ("Er rief »[[Gut]]« und ging.", "Sehr gut", "Er rief »Sehr gut« und ging."),
    ("Das [[ist]] schön.", "Haus ist", "Das Haus ist schön."),
    ("DAS IST [[GUT]].", "groß", "DAS IST GROSS."),
    # -- Spanish, Italian, Turkish, Greek, Russian, Vietnamese
    ("[[]]¿Vienes hoy?", "Hola ,", "Hola, ¿vienes hoy?"),
    ("¿[[Viene]] usted?", "Vienes", "¿Vienes usted?"),
    ("Sono [[questi]] ragazzi.", "i", "Sono i ragazzi."),
    ("[[Çok]] iyi ışık.", "", "İyi ışık."),
    ("[[]]Işık iyi.", "çok", "Çok ışık iyi."),
    ("ÇOK [[KÖTÜ]] VAR.", "iyi ışık", "ÇOK İYİ IŞIK VAR."),
    ("[[]]İyi ışık.", "çok", "Çok iyi ışık."),
    ("[[Ο]] σοφός έφυγε.", "", "Σοφός έφυγε."),
    ("[[Он]] очень рад.", "", "Очень рад."),
    ("Tôi [[rất]] vui.", "không", "Tôi không vui."),
    # -- Arabic, Hindi, Korean
    ("هل [[تريد]] قهوة؟", "أنت بخير ، هل تريد", "هل أنت بخير، هل تريد قهوة؟"),
    ("هل تريد قهوة[[؟]] نعم.", "!", "هل تريد قهوة! نعم."),
    ("यह [[अच्छा]] है।", "बहुत बुरा", "यह बहुत बुरा है।"),
    ("저는 [[매우]] 기쁩니다.", "정말", "저는 정말 기쁩니다."),
    # -- without spaces
    ("请[[您]]稍等。", "你", "请你稍等。"),
    ("请您[[]]稍等。", "再 耐心", "请您再耐心稍等。"),
    ("请[[您]]稍等。", "", "请稍等。"),
    ("[[请]]您稍等。", "", "您稍等。"),
    ("请您稍等[[。]]好的。", "！", "请您稍等！好的。"),
    ("请您稍等[[]]。", "， 好 吗", "请您稍等，好吗。"),
    ("我用 Python [[写]]代码。", "和 Java 写", "我用 Python 和 Java 写代码。"),
    ("我用Python[[写]]代码。", "和 Java 写", "我用Python和Java写代码。"),
    ("我 用 它 [[写]] 代码 。", "读 和 写", "我 用 它 读 和 写 代码 。"),
    ("กรุณารอ[[สัก]]ครู่ ขอบคุณ", "ตรง นี้", "กรุณารอตรงนี้ครู่ ขอบคุณ"),
    ("กรุณารอสักครู่ [[]]ขอบคุณ", "ครับ", "กรุณารอสักครู่ ครับขอบคุณ"),
]


@pytest.mark.parametrize(("marked", "infill", "expected"), SENTENCES)
def test_sentences(marked: str, infill: str, expected: str) -> None:
    assert written(marked, infill) == expected


def test_marks_are_spaced_as_other_texts_have_them() -> None:
    assert written("Tu viens[[]]", "! Oui", usual=FRENCH) == "Tu viens⍽! Oui"
    assert written("Tu viens[[]] ?", ", toi", usual=FRENCH) == "Tu viens, toi ?"
    assert written("Tu viens[[]]?", "! Oui", usual=FRENCH) == "Tu viens! Oui?"  # the text itself says more


def test_what_texts_say_of_their_marks() -> None:
    french = [f"Oui, vraiment{N}!", f"Il dit{B}: «{B}Bonjour.{B}»", f"Non, merci. Ça va{N}?"]
    assert usual_gaps(french) == {"!": N, "?": N, ":": B, "«": B, "»": B}
    assert usual_gaps(["It was good, really!", "No? Yes: no."]) == {}
    assert usual_gaps(["it was good , really !", "no ? yes : no ."]) == {}


# -- what tokenizers leave of the letters ------------------------------------------------------------------------------

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


def make(normalizer: Any, *words: str) -> Vocabulary:
    vocabulary = {token: k for k, token in enumerate([*SPECIAL.values(), *dict.fromkeys(words)])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(t, vocabulary[t]) for t in ("[CLS]", "[SEP]")]
    )
    return Vocabulary(
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{f"{r}_token": t for r, t in SPECIAL.items()})
    )


def rewritten(vocabulary: Vocabulary, marked: str, *words: str) -> str:
    _, span = parse(marked)
    text = vocabulary.read(marked.replace("[[", "").replace("]]", ""))
    pieces = [vocabulary.tokenizer.convert_tokens_to_ids(word) for word in words]
    infill = spelt(vocabulary, text, span, pieces)
    return applied(text.source, write(vocabulary, text, span, infill, [False] * len(text.words)))


def test_an_infill_keeps_the_accents_of_the_words_it_keeps() -> None:
    uncased = make(normalizers.BertNormalizer(), "le", "cafe", "est", "bon", "eleve", "a")
    assert rewritten(uncased, "Oui, [[le café est]] froid.", "cafe", "bon") == "Oui, café bon froid."
    assert rewritten(uncased, "[[Élève]] ici.", "le", "eleve") == "Le élève ici."
    cafe = "cafe\u0301"
    assert rewritten(uncased, f"Oui, [[le {cafe}]] est.", "bon", "cafe") == f"Oui, bon {cafe} est."


def test_accents_are_composed_as_the_text_has_them() -> None:
    cased = make(normalizers.NFC(), "café", "très", "bon")
    assert rewritten(cased, "Le cafe\u0301 est [[bon]].", "très", "bon") == "Le cafe\u0301 est tre\u0300s bon."
    assert rewritten(cased, "Le café est [[bon]].", "très", "bon") == "Le café est très bon."


def test_a_word_known_by_its_capital_keeps_it() -> None:
    german = make(normalizers.NFC(), "Haus", "ha", "##us", "Das", "das", "dort", "Dort", "ist")
    assert german.cased
    assert rewritten(german, "[[]]Haus ist da.", "dort") == "Dort Haus ist da."
    assert rewritten(german, "[[]]Das ist da.", "dort") == "Dort das ist da."
