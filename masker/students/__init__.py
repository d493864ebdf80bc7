"""Students: small fast models that learn rewriting from aligned pairs, gold or written by Masker."""

from masker.students.base import KINDS, Pair, Student, StudentSettings, is_student, rewrite_stream

__all__ = ["KINDS", "Pair", "Student", "StudentSettings", "is_student", "rewrite_stream"]
