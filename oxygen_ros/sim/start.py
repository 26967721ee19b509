"""How an episode of the block task begins."""
import numpy as np

from oxygen_ros.sim.expert import seed_towards
from oxygen_ros.sim.joints import GRIPPER_OPEN_M, START
from oxygen_ros.sim.judge import RIGHT, suits
from oxygen_ros.sim.kinematics import downward


def draw_start(random, kinematics, wild=0.35):
    """
    Positions [14] to begin an episode from: near the start pose, or with chance `wild` anywhere above the blocks.

    Wild starts teach what to do after a miss; their gripper may be open or closed.
    """
    positions = START.copy()
    positions[:6] += random.normal(0, 0.03, 6)
    positions[RIGHT][:6] += random.normal(0, 0.06, 6)
    if random.random() < wild:
        point = np.array([random.uniform(-0.02, 0.26), random.uniform(0.34, 0.66), random.uniform(0.06, 0.22)])
        seed, yaw = seed_towards(kinematics, point)
        positions[RIGHT][:6] = kinematics.solve(seed, point, downward(yaw))[0] + random.normal(0, 0.03, 6)
        positions[13] = random.choice([GRIPPER_OPEN_M, START[13], random.uniform(START[13], GRIPPER_OPEN_M)])
    return positions


def begin(scene, goal, seed, kinematics, wild=0.0):
    """Put the scene of a Blocks task into the start of an episode in which `goal` can be done."""
    scene.task.suits = lambda places: suits(places, goal)
    scene.reset(seed)
    scene.place_arms(draw_start(np.random.default_rng([seed, 1]), kinematics, 1.0 if goal.kind == 'home' else wild))
